import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseList, type Item, type InnerList } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import type { RateLimitOptions } from '../../lib/index.js';
import { sequence, transcript } from './golden/sequence.js';
import { ADAPTERS, type AdapterName } from './support/app.js';
import type { Answer } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

/** By the name of their golden files, which are changed by hand only. */
const FORMATS: Readonly<Record<string, RateLimitOptions['headers']>> = {
  'draft-6': 'draft-6',
  'draft-11': 'draft-11',
  'x-ratelimit': 'x-ratelimit',
  'retry-after': 'retry-after',
  several: ['draft-6', 'draft-11', 'x-ratelimit'],
  none: null,
};

/** What pages of another origin may read, behind the app's own `X-Total`. */
const EXPOSED: Readonly<Record<string, readonly string[]>> = {
  'draft-6': ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
  'draft-11': ['ratelimit', 'ratelimit-policy'],
  'x-ratelimit': ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  'retry-after': [],
  none: [],
};

/** Windows of the sequence in seconds, by what the buckets of a limit have. */
const WINDOWS: Readonly<Record<string, { readonly q: number; readonly w: number }>> = {
  'per-ip': { q: 14, w: 70 },
  'minutely "m"': { q: 3, w: 60 },
  hourly: { q: 4, w: 3600 },
};

function golden(format: string, adapter: AdapterName): string {
  return readFileSync(join(import.meta.dirname, 'golden', `${format}.${adapter}.txt`), 'utf8');
}

/** A list of strings with whole numbers as parameters; throws on any other syntax. */
function items(field: unknown): { readonly name: string; readonly [parameter: string]: string | number }[] {
  if (typeof field !== 'string') throw new Error(`the field is ${String(field)}`);
  return parseList(field).map((member: Item | InnerList) => {
    const [name, parameters] = member;
    if (typeof name !== 'string') throw new Error(`${field}: a member is no string`);
    const numbers = [...parameters].map(([key, value]): [string, number] => {
      if (typeof value !== 'number' || !Number.isInteger(value)) throw new Error(`${field}: ${key}`);
      return [key, value];
    });
    return { ...Object.fromEntries(numbers), name };
  });
}

/** Names of header lines about limits. */
function linesOf({ headers }: Answer): string[] {
  return Object.keys(headers).filter((name) => /ratelimit|retry-after/.test(name));
}

function triple({ headers }: Answer, prefix: 'ratelimit' | 'x-ratelimit'): unknown[] {
  return ['limit', 'remaining', 'reset'].map((name) => headers[`${prefix}-${name}`]);
}

checkNestVersion();

describe('the golden files', () => {
  it.each(Object.keys(FORMATS))('of %s are the same for both adapters', (format) => {
    expect(golden(format, 'express')).toBe(golden(format, 'fastify'));
  });
});

describe.each(ADAPTERS)('header lines on %s', (adapter) => {
  it.each(Object.entries(FORMATS))(
    'G08, G10 in %s are those of the golden file, however the app answers',
    async (format, headers) => {
      expect(transcript(await sequence(adapter, headers))).toBe(golden(format, adapter));
    },
  );

  it('SB-36 are draft-6 by default', async () => {
    expect(transcript(await sequence(adapter, undefined))).toBe(golden('draft-6', adapter));
  });

  it('in three formats at once tell of one and the same bucket, and draft-11 lists all that were met', async () => {
    const steps = (await sequence(adapter, FORMATS.several)).filter(({ answer }) => answer.status !== 204);
    expect(steps).toHaveLength(25);
    for (const { title, answer } of steps) {
      const path = title.split(/[ ,]/, 2).join(' ');
      const [{ name, r, t }, ...more] = items(answer.headers.ratelimit);
      expect(more).toEqual([]);
      const policies = items(answer.headers['ratelimit-policy']);
      for (const { name: listed, q, w } of policies) {
        expect({ q, w }).toEqual(WINDOWS[listed] ?? { q: 2, w: 60 });
      }
      const policy = policies.find((listed) => listed.name === name);
      const told = [policy?.q, r, t].map(String);
      expect(triple(answer, 'ratelimit')).toEqual(told);
      expect(triple(answer, 'x-ratelimit')).toEqual(told);
      // The per-IP limit refuses before a route is known.
      const refusedBefore = answer.status === 429 && name === 'per-ip';
      const routes = path === 'GET /two' ? ['minutely "m"', 'hourly'] : [path];
      const met = refusedBefore || path === 'GET /nope' ? ['per-ip'] : ['per-ip', ...routes];
      expect([title, ...policies.map((listed) => listed.name)]).toEqual([title, ...met]);
    }
  });

  it.each(Object.entries(EXPOSED))('G07 in %s pages of other origins may read them', async (format, ours) => {
    for (const { title, answer } of await sequence(adapter, FORMATS[format])) {
      if (!title.includes('another origin')) continue;
      const list = String(answer.headers['access-control-expose-headers']).toLowerCase().split(', ');
      expect(list).toEqual(['x-total', 'retry-after', ...ours]);
      for (const name of linesOf(answer)) expect(list).toContain(name);
    }
  });
});

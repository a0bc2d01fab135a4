// Two published texts describe what this package does. Their sentences are numbered, SA-01 to SA-47 and SB-01 to SB-59:
// each that states a behaviour has one test here that shows it, each other a reason why there is none.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import ids from './ids.json' with { type: 'json' };

interface Entry {
  readonly tests?: readonly string[];
  readonly reason?: string;
}

const root = join(import.meta.dirname, '../..');
const folder = 'test/sources';
const entries = Object.entries<Entry>(ids);

/** Every number in the titles of the tests of a file, as often as it is there. */
function numbersIn(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const titles = [...text.matchAll(/\bit(?:\.each)?\b[^'"`\n]*\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g)];
  return titles.flatMap((title) => title[2].match(/\bS[AB]-\d\d\b/g) ?? []);
}

function testFiles(where: string): string[] {
  return readdirSync(join(root, where), { recursive: true, encoding: 'utf8' })
    .filter((file) => !file.includes('node_modules') && file.endsWith('.test.ts'))
    .map((file) => join(where, file));
}

function numbers(prefix: string, last: number): string[] {
  return Array.from({ length: last }, (_, index) => `${prefix}-${String(index + 1).padStart(2, '0')}`);
}

describe('the numbered sentences', () => {
  it('all 106 are listed in order, each with its tests or a reason, not both', () => {
    expect(entries.map(([number]) => number)).toEqual([...numbers('SA', 47), ...numbers('SB', 59)]);
    for (const [number, { tests = [], reason = '' }] of entries) {
      expect(tests.length > 0, number).toBe(reason === '');
    }
  });

  it('each listed file has a test with the number in its title, and over this folder there is exactly one', () => {
    const found = new Map<string, string[]>();
    for (const file of testFiles(folder)) {
      for (const number of numbersIn(file)) found.set(number, [...(found.get(number) ?? []), file]);
    }
    const listed = entries.filter(([, { tests }]) => tests !== undefined);
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(listed.map(([number, { tests }]) => [number, tests])),
    );
  });

  it('no test of this repository names a number that the list says has none', () => {
    const named = new Set([...testFiles('test'), ...testFiles('sample')].flatMap((file) => numbersIn(file)));
    const stale = entries
      .filter(([number, { reason }]) => reason !== undefined && named.has(number))
      .map(([number]) => number);
    expect(stale).toEqual([]);
  });
});

// The sample as its reader meets it: built and started as `npm start` does, and spoken to over HTTP.
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { curlLines, run, type Base } from '../../test/docs/curl.js';

const root = resolve(import.meta.dirname, '../..');
const started = new Set<ChildProcessWithoutNullStreams>();

interface Sample {
  readonly process: ChildProcessWithoutNullStreams;
  readonly base: Base;
  /** What it printed before it listened. */
  readonly guide: string;
}

beforeAll(() => {
  const nest = join(root, 'test/tools/nest.mjs');
  execFileSync(process.execPath, [nest, 'build', '-p', 'sample/01-quick-start/tsconfig.json'], { cwd: root });
}, 90_000);

function killAll(): void {
  for (const child of started) child.kill('SIGKILL');
  started.clear();
}

function launch(port: string): ChildProcessWithoutNullStreams {
  const main = join(import.meta.dirname, 'dist/main.js');
  const child = spawn(process.execPath, [main], { env: { ...process.env, PORT: port } });
  started.add(child);
  return child;
}

/** What a stream says until `complete` is found in it, or until it ends. */
async function read(stream: Readable, complete: RegExp): Promise<string> {
  let text = '';
  // Not destroyed: what the sample logs later would meet a closed pipe, and end it.
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (complete.test(text)) break;
  }
  stream.resume();
  return text;
}

async function start(): Promise<Sample> {
  const child = launch('0');
  const guide = await read(child.stdout, /ada-demo-token"\n/);
  const [, port] = /http:\/\/localhost:(\d+)/.exec(guide) ?? [];
  if (port === undefined) throw new Error(`the sample did not start: ${guide}`);
  return { process: child, base: `http://127.0.0.1:${Number(port)}`, guide };
}

/** Calls a route as a user, or as a guest from an address of its own. */
async function call(
  base: Base,
  route: string,
  who: { user?: string; from?: string } = {},
): Promise<Response> {
  const [method, path] = route.split(' ');
  const headers = new Headers();
  if (who.user !== undefined) headers.set('authorization', `Bearer ${who.user}-demo-token`);
  if (who.from !== undefined) headers.set('x-forwarded-for', who.from);
  return fetch(base + path, { method, headers });
}

async function statuses(count: number, ...args: Parameters<typeof call>): Promise<number[]> {
  const list: number[] = [];
  for (let i = 0; i < count; i += 1) list.push((await call(...args)).status);
  return list;
}

describe('an app with users and guests', () => {
  let base: Base;
  let guide: string;

  beforeAll(async () => {
    ({ base, guide } = await start());
  });
  afterAll(() => killAll());

  it('has the limits that it prints', async () => {
    const printed = [...guide.matchAll(/^ +(\d+) in (\d+)(s|m) +(?:(GET|POST) +(\S+),|every request)/gm)];
    const shown = printed.map(async ([, , , , method = 'GET', path = '/']) => {
      const answer = await call(base, `${method} ${path.replace(':word', 'dune')}`, { user: 'ada' });
      return answer.headers.get('ratelimit-limit');
    });
    expect(printed).toHaveLength(5);
    expect(await Promise.all(shown)).toEqual(printed.map(([, limit]) => limit));
  });

  it('tells users apart, and counts each route by itself', async () => {
    expect(await statuses(4, base, 'POST /reports', { user: 'ben' })).toEqual([201, 201, 201, 429]);
    expect(await statuses(1, base, 'POST /reports', { user: 'cleo' })).toEqual([201]);
    const answer = await call(base, 'GET /reports', { user: 'ben' });
    expect(answer.headers.get('ratelimit-remaining')).toBe('9');
    expect(await answer.json()).toEqual({ user: 'ben', reports: 3 });
  });

  it('tells guests apart by network, and users from the guests of their network', async () => {
    const guest = { from: '2001:db8:0:1::a' };
    expect(await statuses(6, base, 'GET /search/dune', guest)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(1, base, 'GET /search/dune', { from: '2001:db8:0:1::b' })).toEqual([429]);
    expect(await statuses(1, base, 'GET /search/dune', { from: '2001:db8:0:2::a' })).toEqual([200]);
    expect(await statuses(1, base, 'GET /search/dune', { ...guest, user: 'ben' })).toEqual([200]);
  });

  it('counts calls that end in 403', async () => {
    const answers = await statuses(6, base, 'GET /admin/users', { user: 'cleo' });
    expect(answers).toEqual([403, 403, 403, 403, 403, 429]);
    expect(await statuses(1, base, 'GET /admin/users', { user: 'ada' })).toEqual([200]);
  });

  it('refuses with Retry-After, after which the same call passes', async () => {
    const guest = { from: '203.0.113.9' };
    await statuses(5, base, 'GET /search/dune', guest);
    const refusal = await call(base, 'GET /search/dune', guest);
    expect(refusal.status).toBe(429);
    expect(await refusal.json()).toEqual({
      statusCode: 429,
      message: 'Too Many Requests',
      error: 'Too Many Requests',
    });
    expect(refusal.headers.get('ratelimit-remaining')).toBe('0');
    const seconds = Number(refusal.headers.get('retry-after'));
    expect([1, 2]).toContain(seconds);
    await sleep(seconds * 1000);
    expect(await statuses(1, base, 'GET /search/dune', guest)).toEqual([200]);
  });

  it('refuses unknown tokens, and guests where a role is needed', async () => {
    expect(await statuses(1, base, 'GET /search/dune', { user: 'mallory' })).toEqual([401]);
    expect(await statuses(1, base, 'GET /reports')).toEqual([401]);
  });
});

describe('the lines to copy', () => {
  afterEach(killAll);

  it('that the sample prints are answered as it says', async () => {
    const { base, guide } = await start();
    const answers: [line: string, statuses: number[]][] = [];
    for (const line of curlLines(guide)) {
      const shown = line.slice('curl -i '.length).replaceAll(/http:\/\/localhost:\d+|-demo-token/g, '');
      answers.push([shown, (await run(line, base)).map(({ status }) => status)]);
    }
    expect(answers).toEqual([
      ['/', [200]],
      ['/search/dune', [200]],
      ['"/search/dune?[1-6]"', [200, 200, 200, 200, 429, 429]],
      ['/search/dune -H "X-Forwarded-For: 203.0.113.7"', [200]],
      ['/search/dune -H "Authorization: Bearer cleo"', [200]],
      ['/reports', [401]],
      ['/reports -H "Authorization: Bearer ben"', [200]],
      ['-X POST /reports -H "Authorization: Bearer ben"', [201]],
      ['/admin/users -H "Authorization: Bearer ben"', [403]],
      ['/admin/users -H "Authorization: Bearer ada"', [200]],
    ]);
  });

  it('that README shows give five answers and a refusal', async () => {
    const { base } = await start();
    const lines = curlLines(readFileSync(join(import.meta.dirname, 'README.md'), 'utf8'));
    expect(lines).toHaveLength(1);
    const answers = await run(lines[0], base);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
  });
});

describe('the process', () => {
  afterEach(killAll);

  it('says plainly that its port is taken', async () => {
    const holder = createServer().listen(0);
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const child = launch(String(port));
    const [said, [code]] = await Promise.all([read(child.stderr, /npm start\n/), once(child, 'exit')]);
    holder.close();
    expect(said).toMatch(new RegExp(`^Port ${port} is taken. Choose another: PORT=3001 npm start$`, 'm'));
    expect(code).toBe(1);
  });

  it('says plainly that its port is none', async () => {
    const child = launch('http');
    const [said, [code]] = await Promise.all([read(child.stderr, /npm start\n/), once(child, 'exit')]);
    expect(said).toBe('Port http is not a port. Choose another: PORT=3001 npm start\n');
    expect(code).toBe(1);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'ends with exit code 0 on %s, open connections or not',
    async (signal) => {
      const { process: child, base } = await start();
      // The answer's connection is kept alive.
      await call(base, 'GET /');
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([0, null]);
    },
  );
});

// The sample as its reader meets it: built and started as its npm script does, and spoken to over HTTP. Its clock
// stands still, so that no window ends before a test wants it to; each test begins at the full hour, with all limits new.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { curlLines, run, type Base } from '../../test/docs/curl.js';

const root = resolve(import.meta.dirname, '../..');
let child: ChildProcess;
let sample: Sample;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const STOPPED_CLOCK = `
  let now = Date.UTC(2026, 0, 1);
  Date.now = () => now;
  process.on('message', (unit) => process.send((now += unit - (now % unit))));
  process.channel.unref();`;

interface Sample {
  readonly base: Base;
  /** What it printed at the start. */
  readonly guide: string;
  /** Moves its clock on to the next full unit, of so many milliseconds. */
  next(unit: number): Promise<void>;
}

beforeAll(async () => {
  const nest = join(root, 'test/tools/nest.mjs');
  execFileSync(process.execPath, [nest, 'build', '-p', 'sample/03-machine-api/tsconfig.json'], { cwd: root });
  sample = await start();
}, 90_000);

beforeEach(() => sample.next(HOUR));

afterAll(() => child.kill('SIGKILL'));

async function start(): Promise<Sample> {
  const main = join(import.meta.dirname, 'dist/main.js');
  const clock = `--import=data:text/javascript,${encodeURIComponent(STOPPED_CLOCK)}`;
  child = spawn(process.execPath, [clock, main], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += String(chunk)));
  while (!text.includes('/admin/api') && child.exitCode === null) await sleep(20);
  const [, port] = /http:\/\/localhost:(\d+)/.exec(text) ?? [];
  if (port === undefined) throw new Error(`the sample did not start: ${text}`);
  const next = async (unit: number): Promise<void> => {
    child.send(unit);
    await once(child, 'message');
  };
  return { base: `http://127.0.0.1:${Number(port)}`, guide: text, next };
}

interface Who {
  /** The credential. */
  readonly as?: string;
  readonly from?: string;
}

/** Calls a route such as `POST /tools/suggest word=tove`. */
async function call(route: string, { as, from }: Who = {}): Promise<Response> {
  const [method, path, form] = route.split(' ');
  const headers = new Headers();
  if (as !== undefined) headers.set('authorization', `Bearer ${as}`);
  if (from !== undefined) headers.set('x-forwarded-for', from);
  const body = form === undefined ? undefined : new URLSearchParams(form);
  return fetch(sample.base + path, { method, headers, body });
}

async function statuses(count: number, route: string, who?: Who): Promise<number[]> {
  const list: number[] = [];
  for (let i = 0; i < count; i += 1) list.push((await call(route, who)).status);
  return list;
}

const kiosk = { as: 'kiosk-demo-key' };
const office = { as: 'office-demo-key' };
const ada = { as: 'ada-demo-session' };
const ben = { as: 'ben-demo-session' };

describe('keys and users', () => {
  it('have a budget of units each, which calls of any route take their cost from', async () => {
    expect(await statuses(3, 'GET /words/export', kiosk)).toEqual([200, 200, 429]);
    expect(await statuses(3, 'GET /words', kiosk)).toEqual([200, 200, 429]);
    expect(await statuses(1, 'GET /words', { ...kiosk, from: '203.0.113.1' })).toEqual([429]);
    expect(await statuses(1, 'GET /words', ada)).toEqual([200]);
    await sample.next(MINUTE);
    expect(await statuses(1, 'GET /words/export', kiosk)).toEqual([200]);
  });

  it('are told when to come back', async () => {
    await statuses(10, 'GET /words', ben);
    await sample.next(18_000);
    const refusal = await call('GET /words', ben);
    expect(refusal.status).toBe(429);
    expect(refusal.headers.get('retry-after')).toBe('42');
    expect(await refusal.json()).toEqual({
      statusCode: 429,
      message: 'Too Many Requests',
      error: 'Too Many Requests',
    });
  });

  it('are what handlers get to know', async () => {
    expect(await (await call('GET /words', kiosk)).json()).toMatchObject({
      you: { key: 'kiosk', admin: false },
    });
    expect(await (await call('GET /words', ada)).json()).toMatchObject({
      you: { user: 'ada', admin: true },
    });
  });
});

describe('guesses', () => {
  it('are refused once a network has failed too often, and valid keys pass all the same', async () => {
    expect(await statuses(5, 'GET /words', { as: 'guess' })).toEqual([401, 401, 401, 429, 429]);
    expect(await statuses(1, 'GET /words', kiosk)).toEqual([200]);
    expect(await statuses(1, 'GET /words', { as: 'guess', from: '203.0.113.1' })).toEqual([401]);
    await sample.next(MINUTE);
    expect(await statuses(1, 'GET /words', { as: 'guess' })).toEqual([401]);
  });

  it('are counted on all routes together, those of a key from a wrong address too', async () => {
    expect(await statuses(1, 'GET /words', office)).toEqual([403]);
    expect(await statuses(1, 'GET /tools/check?text=tove', { as: 'guess' })).toEqual([401]);
    expect(await statuses(1, 'GET /admin/suggestions', { as: 'guess' })).toEqual([401]);
    expect(await statuses(1, 'GET /words', office)).toEqual([429]);
    expect(await statuses(1, 'GET /words', { ...office, from: '203.0.113.7' })).toEqual([200]);
  });

  it('that come at once are not answered 401 more often', async () => {
    const guesses = Array.from({ length: 20 }, () => call('GET /words', { as: 'guess' }));
    const answers = (await Promise.all(guesses)).map(({ status }) => status);
    expect(answers.filter((status) => status === 401)).toHaveLength(3);
    expect(answers.filter((status) => status === 429)).toHaveLength(17);
  });

  it('are neither calls without a key, nor those of a known caller without the right', async () => {
    expect(await statuses(5, 'GET /words')).toEqual([401, 401, 401, 401, 401]);
    expect(await statuses(5, 'GET /admin/suggestions', ben)).toEqual([403, 403, 403, 403, 403]);
    expect(await statuses(1, 'GET /words', { as: 'guess' })).toEqual([401]);
  });

  it('are not made in URLs', async () => {
    const answer = await call('GET /words?api_key=kiosk-demo-key');
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ message: expect.stringContaining("'api_key'") });
  });
});

describe('public tools', () => {
  it('cost what the call asks for, in the budget of its client token', async () => {
    expect(await statuses(2, 'GET /tools/check?client=me&text=a+b+c+d')).toEqual([200, 429]);
    expect(await statuses(1, 'GET /tools/check?client=me&text=a+b')).toEqual([200]);
    expect(await statuses(1, 'GET /tools/check?client=you&text=a')).toEqual([200]);
  });

  it('never cost nothing', async () => {
    const answers = await statuses(7, 'GET /tools/check?client=me');
    expect(answers).toEqual([200, 200, 200, 200, 200, 200, 429]);
  });

  it('are limited per network, whatever client tokens it makes up', async () => {
    const route = (client: string) => `GET /tools/check?client=${client}&text=a+b+c+d+e+f`;
    expect(await statuses(1, route('1'))).toEqual([200]);
    expect(await statuses(1, route('2'))).toEqual([200]);
    expect(await statuses(1, route('3'))).toEqual([429]);
    expect(await statuses(1, route('3'), { from: '203.0.113.1' })).toEqual([200]);
    expect(await statuses(1, route('3'), kiosk)).toEqual([200]);
  });

  it('take new rows of guests up to a number per hour and network, and of others without one', async () => {
    const route = 'POST /tools/suggest client=me&word=rath';
    const listed = async () =>
      (await (await call('GET /admin/suggestions', ada)).text()).split('rath').length;
    const before = await listed();
    expect(await statuses(2, route)).toEqual([201, 201]);
    const refusal = await call(route);
    expect(refusal.status).toBe(429);
    expect(refusal.headers.get('retry-after')).toBe('3600');
    expect(await statuses(3, route, ben)).toEqual([201, 201, 201]);
    await sample.next(MINUTE);
    expect(await statuses(1, route)).toEqual([429]);
    await sample.next(HOUR);
    expect(await statuses(1, route)).toEqual([201]);
    expect(await listed()).toBe(before + 6);
  });
});

describe('the admin', () => {
  it('switches the API off, and on again', async () => {
    expect(await statuses(1, 'PUT /admin/api on=false', ada)).toEqual([200]);
    for (const route of ['GET /words', 'GET /tools/check?text=tove', 'GET /words?token=kiosk-demo-key']) {
      expect(await statuses(5, route, { as: 'guess' })).toEqual([404, 404, 404, 404, 404]);
    }
    expect(await statuses(1, 'PUT /admin/api on=true', ada)).toEqual([200]);
    expect(await statuses(1, 'GET /words', kiosk)).toEqual([200]);
  });

  it('issues keys, each with a budget of its own', async () => {
    const issued: unknown = await (await call('POST /admin/keys', ada)).json();
    const { key, secret } = issued as { key: string; secret: string };
    const answer = await call('GET /words', { as: secret });
    expect(answer.headers.get('ratelimit-remaining')).toBe('9');
    expect(await answer.json()).toMatchObject({ you: { key } });
    expect(await statuses(1, 'POST /admin/keys', ben)).toEqual([403]);
  });
});

describe('the lines to copy', () => {
  // As curl says it.
  const form = '-H "Content-Type: application/x-www-form-urlencoded"';
  const send = (line: string) => run(line.includes(' -d ') ? `${line} ${form}` : line, sample.base);

  it('that README shows end with a refusal', async () => {
    const lines = curlLines(readFileSync(join(import.meta.dirname, 'README.md'), 'utf8'));
    expect(lines).toHaveLength(1);
    expect((await send(lines[0])).map(({ status }) => status)).toEqual([401, 401, 401, 429]);
  });

  it('that the sample prints are answered as it says', async () => {
    const answers: [line: string, statuses: string][] = [];
    for (const line of curlLines(sample.guide)) {
      const shown = line.replaceAll(/^curl -i |http:\/\/localhost:\d+|-H "Authorization: Bearer |-demo/g, '');
      answers.push([shown, (await send(line)).map(({ status }) => status).join(' ')]);
    }
    expect(answers).toEqual([
      ['/words', '401'],
      ['/words kiosk-key"', '200'],
      ['"/words/export?[1-3]" kiosk-key"', '200 200 429'],
      ['"/words?api_key=kiosk-key"', '400'],
      ['/words office-key"', '403'],
      ['/words office-key" -H "X-Forwarded-For: 203.0.113.7"', '200'],
      ['"/words?[1-3]" guess"', '401 401 429'],
      ['/words kiosk-key"', '200'],
      ['"/tools/check?client=me&text=the+snark+was+here&[1-2]"', '200 429'],
      ['"/tools/suggest?[1-3]" -d "client=you&word=bandersnatch"', '201 201 429'],
      ['"/tools/suggest?[1-3]" -d "word=bandersnatch" ada-session"', '201 201 201'],
      ['/admin/suggestions ben-session"', '403'],
      ['/admin/suggestions ada-session"', '200'],
      ['-X POST /admin/keys ada-session"', '201'],
      ['-X PUT /admin/api -d "on=false" ada-session"', '200'],
      ['/words kiosk-key"', '404'],
    ]);
    expect(await statuses(1, 'PUT /admin/api on=true', ada)).toEqual([200]);
  });
});

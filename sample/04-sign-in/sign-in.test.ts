// The sample as its reader meets it: built and started as its npm script does, and spoken to over HTTP. Its clock
// stands still, so that no window ends before a test wants it to; each test begins at the full minute, with all limits new.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { curlLines, run, type Base } from '../../test/docs/curl.js';

const root = resolve(import.meta.dirname, '../..');
const MINUTE = 60_000;
let child: ChildProcess;
let sample: Sample;
/** What the sample's clock shows. */
let now: number;

const STOPPED_CLOCK = `
  let now = Date.UTC(2026, 0, 1);
  Date.now = () => now;
  process.on('message', (unit) => process.send((now += unit - (now % unit))));
  process.channel.unref();`;

interface Sample {
  readonly base: Base;
  /** What it has printed so far. */
  printed(): string;
  /** Moves its clock on to the next full unit, of so many milliseconds. The time that it shows then. */
  next(unit: number): Promise<number>;
}

beforeAll(async () => {
  const nest = join(root, 'test/tools/nest.mjs');
  execFileSync(process.execPath, [nest, 'build', '-p', 'sample/04-sign-in/tsconfig.json'], { cwd: root });
  sample = await start();
}, 90_000);

beforeEach(async () => {
  now = await sample.next(MINUTE);
});

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
  while (!text.includes('/recovery-code') && child.exitCode === null) await sleep(20);
  const [, port] = /http:\/\/localhost:(\d+)/.exec(text) ?? [];
  if (port === undefined) throw new Error(`the sample did not start: ${text}`);
  const next = async (unit: number): Promise<number> => {
    child.send(unit);
    const [time] = await once(child, 'message');
    return Number(time);
  };
  return { base: `http://127.0.0.1:${Number(port)}`, printed: () => text, next };
}

interface Who {
  /** The session. */
  readonly as?: string;
  readonly from?: string;
}

/** Calls a route such as `POST /sign-in email=ada@example.org&password=guess`. */
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

/** A field of the answer to a call that passes. */
async function fieldOf(name: 'session' | 'challenge', route: string): Promise<string> {
  const answer: unknown = await (await call(route)).json();
  return String(Object(answer)[name]);
}

const wrong = (email: string) => `POST /sign-in email=${email}&password=guess`;
const ada = 'POST /sign-in email=ada@example.org&password=analytical-engine';
const ben = 'POST /sign-in email=ben@example.org&password=lightning-rod';

describe('signing in', () => {
  it('is refused after too many failures, before anything is verified', async () => {
    expect(await statuses(4, wrong('ben@example.org'))).toEqual([401, 401, 401, 429]);
    const refusal = await call(ben);
    expect(refusal.status).toBe(429);
    expect(refusal.headers.get('retry-after')).toBe('60');
    expect(await refusal.json()).toEqual({
      statusCode: 429,
      message: 'Too many login attempts. Please try again in 60 seconds.',
      error: 'Too Many Requests',
    });
    await sample.next(MINUTE);
    expect(await statuses(1, ben)).toEqual([200]);
  });

  it('is limited per account and network, whatever the spelling', async () => {
    await statuses(2, wrong('ben@example.org'));
    expect(await statuses(2, wrong('BEN@Example.org'))).toEqual([401, 429]);
    expect(await statuses(1, ben, { from: '203.0.113.1' })).toEqual([200]);
    expect(await statuses(1, ada)).toEqual([200]);
  });

  it('forgets the failures before it', async () => {
    expect(await statuses(2, wrong('ben@example.org'))).toEqual([401, 401]);
    expect(await statuses(1, ben)).toEqual([200]);
    expect(await statuses(4, wrong('ben@example.org'))).toEqual([401, 401, 401, 429]);
  });

  it('does not tell whether an account exists', async () => {
    const answers = async (email: string) => {
      const list: unknown[] = [];
      for (let i = 0; i < 4; i += 1) {
        const answer = await call(wrong(email));
        list.push([answer.status, await answer.text()]);
      }
      return list;
    };
    expect(await answers('nobody@example.org')).toEqual(await answers('ben@example.org'));
  });

  it('takes as long for accounts that do not exist', async () => {
    const fastest = async (email: string) => {
      const times: number[] = [];
      for (let i = 0; i < 3; i += 1) {
        const before = performance.now();
        await (await call(wrong(email))).text();
        times.push(performance.now() - before);
      }
      return Math.min(...times);
    };
    expect(await fastest('nobody@example.org')).toBeGreaterThan((await fastest('ben@example.org')) / 2);
  });

  it('counts nothing that is no try', async () => {
    expect(await statuses(5, 'POST /sign-in email=ben@example.org')).toEqual([400, 400, 400, 400, 400]);
    expect(await statuses(1, ben)).toEqual([200]);
  });

  it('with many accounts is limited per network, and a right password passes all the same', async () => {
    const answers: number[] = [];
    for (let i = 0; i < 11; i += 1) answers.push(...(await statuses(1, wrong(`user${i}@example.org`))));
    expect(answers).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    expect(await statuses(1, ben)).toEqual([200]);
  });
});

describe('changing the password', () => {
  const change = (current: string, next: string) => `PUT /me/password current=${current}&next=${next}`;

  it('counts wrong ones together with those of sign-ins', async () => {
    const as = await fieldOf('session', ben);
    expect(await statuses(1, wrong('ben@example.org'))).toEqual([401]);
    expect(await statuses(2, change('guess', 'kite-and-key'), { as })).toEqual([401, 401]);
    const refusal = await call(change('lightning-rod', 'kite-and-key'), { as });
    expect(refusal.status).toBe(429);
    expect(refusal.headers.get('retry-after')).toBe('60');
    expect(await refusal.json()).toMatchObject({
      message: 'Too many login attempts. Please try again in 60 seconds.',
    });
    expect(await statuses(1, ben)).toEqual([429]);
  });

  it('ends all sessions', async () => {
    const as = await fieldOf('session', ben);
    expect(await statuses(1, change('lightning-rod', 'kite-and-key'), { as })).toEqual([200]);
    expect(await statuses(1, 'GET /me', { as })).toEqual([401]);
    expect(await statuses(1, ben)).toEqual([401]);
    const again = await fieldOf('session', ben.replace('lightning-rod', 'kite-and-key'));
    expect(await statuses(1, change('kite-and-key', 'lightning-rod'), { as: again })).toEqual([200]);
  });
});

describe('the second factor', () => {
  const code = (challenge: string, text: string) => `POST /sign-in/code code=${text}&challenge=${challenge}`;
  const recovery = (challenge: string, text: string) =>
    `POST /sign-in/recovery-code code=${text}&challenge=${challenge}`;

  /** The code that ada's authenticator app shows. */
  async function rightCode(): Promise<string> {
    const file = (name: string) => pathToFileURL(join(import.meta.dirname, 'dist', name)).href;
    const { codeAt, stepAt }: typeof import('./src/second-factor/totp.js') = await import(
      file('second-factor/totp.js')
    );
    const { DEMO_ACCOUNTS }: typeof import('./src/accounts/demo.js') = await import(file('accounts/demo.js'));
    return codeAt(stepAt(now), DEMO_ACCOUNTS[0].authenticatorSecret ?? '');
  }

  it('lets in who has the code, once', async () => {
    const challenge = await fieldOf('challenge', ada);
    const right = await rightCode();
    const session = await fieldOf('session', code(challenge, right));
    expect(await statuses(1, 'GET /me', { as: session })).toEqual([200]);
    expect(await statuses(1, code(challenge, right))).toEqual([401]);
  });

  it('is limited per account: a new sign-in, another network or a recovery code is no way around', async () => {
    for (let i = 0; i < 3; i += 1) {
      const route = i === 1 ? recovery : code;
      expect(await statuses(1, route(await fieldOf('challenge', ada), '000000'))).toEqual([401]);
      // Else the next sign-in's challenge is the very same.
      await sample.next(1_000);
    }
    const challenge = await fieldOf('challenge', ada);
    const refusal = await call(code(challenge, await rightCode()));
    expect(refusal.status).toBe(429);
    expect(await refusal.json()).toMatchObject({
      message: 'Too many wrong codes. Please try again in 57 seconds.',
    });
    const elsewhere = { from: '203.0.113.1' };
    expect(await statuses(1, recovery(challenge, 'punch-card-1815'), elsewhere)).toEqual([429]);
    now = await sample.next(MINUTE);
    expect(await statuses(1, code(challenge, await rightCode()))).toEqual([200]);
  });

  it('takes a recovery code once', async () => {
    const challenge = await fieldOf('challenge', ada);
    expect(await statuses(2, recovery(challenge, 'punch-card-1815'))).toEqual([200, 401]);
  });

  it('takes no challenge that is forged or too old', async () => {
    const challenge = await fieldOf('challenge', ada);
    const [, signature] = challenge.split('.');
    const statement = Buffer.from(JSON.stringify(['ada@example.org', now * 2])).toString('base64url');
    const right = await rightCode();
    expect(await statuses(1, code(`${statement}.${signature}`, right))).toEqual([401]);
    for (let i = 0; i < 5; i += 1) now = await sample.next(MINUTE);
    expect(await statuses(1, code(challenge, await rightCode()))).toEqual([401]);
  });
});

describe('reset mails', () => {
  const answer = async (email: string) => {
    const response = await call(`POST /sign-in/reset email=${email}`);
    return [response.status, await response.text()];
  };
  const mails = () => [...sample.printed().matchAll(/^Mail to (\S+):/gm)].map(([, to]) => to);

  it('go once a minute to an address, and no answer tells which', async () => {
    const first = await answer('ada@example.org');
    const others = ['ada@example.org', 'ADA@example.org', 'nobody@example.org', 'nobody@example.org'];
    for (const email of others) expect(await answer(email)).toEqual(first);
    expect(first[0]).toBe(202);
    await expect.poll(mails).toEqual(['ada@example.org']);
    await answer('ben@example.org');
    await expect.poll(mails).toEqual(['ada@example.org', 'ben@example.org']);
  });
});

describe('session tokens', () => {
  it('are not guessed often, and right ones pass all the same', async () => {
    expect(await statuses(4, 'GET /me', { as: 'guess' })).toEqual([401, 401, 401, 429]);
    expect(await statuses(1, 'GET /me', { as: await fieldOf('session', ben) })).toEqual([200]);
    expect(await statuses(2, 'GET /me')).toEqual([401, 401]);
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
    const known = { SESSION: '', CHALLENGE: '' };
    for (const line of curlLines(sample.printed())) {
      const shown = line.replaceAll(/^curl -i |http:\/\/localhost:\d+|@example.org/g, '');
      if (shown.includes('analytical-engine')) await sample.next(MINUTE);
      const list = await send(line.replace('SESSION', known.SESSION).replace('CHALLENGE', known.CHALLENGE));
      answers.push([shown, list.map(({ status }) => status).join(' ')]);
      const { session, challenge } = Object(await list[0].json());
      known.SESSION ||= session ?? '';
      known.CHALLENGE ||= challenge ?? '';
    }
    expect(answers).toEqual([
      ['"/sign-in?[1-4]" -d "email=ada&password=guess"', '401 401 401 429'],
      ['"/sign-in?[1-4]" -d "email=nobody&password=guess"', '401 401 401 429'],
      ['/sign-in -d "email=ben&password=lightning-rod"', '200'],
      ['"/sign-in/reset?[1-3]" -d "email=ben"', '202 202 202'],
      ['"/sign-in/reset?[1-3]" -d "email=nobody"', '202 202 202'],
      ['"/me?[1-4]" -H "Authorization: Bearer guess"', '401 401 401 429'],
      ['/me -H "Authorization: Bearer SESSION"', '200'],
      [
        '-X PUT "/me/password?[1-4]" -d "current=guess&next=kite-and-key" -H "Authorization: Bearer SESSION"',
        '401 401 401 429',
      ],
      ['/sign-in -d "email=ada&password=analytical-engine"', '200'],
      ['"/sign-in/code?[1-4]" -d "code=000000&challenge=CHALLENGE"', '401 401 401 429'],
      ['/sign-in/recovery-code -d "code=brass-cog-1843&challenge=CHALLENGE"', '429'],
    ]);
  });
});

// The sample as its reader meets it: built and started as its npm script does, and spoken to over HTTP.
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseItem, parseList } from 'structured-headers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../lib/index.js';
import { curlLines, run, type Base } from '../../test/docs/curl.js';
import type { AuditFile } from './src/audit-file.js';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-audit-'));
const started = new Set<ChildProcessWithoutNullStreams>();

interface Sample {
  readonly process: ChildProcessWithoutNullStreams;
  readonly base: Base;
  /** What it has printed so far. */
  printed(): string;
}

beforeAll(() => {
  const nest = join(root, 'test/tools/nest.mjs');
  execFileSync(process.execPath, [nest, 'build', '-p', 'sample/02-custom-responses/tsconfig.json'], {
    cwd: root,
  });
}, 90_000);

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function start(auditFile: string): Promise<Sample> {
  const main = join(import.meta.dirname, 'dist/main.js');
  const env = { ...process.env, NO_COLOR: '1', PORT: '0', AUDIT_FILE: auditFile };
  const child = spawn(process.execPath, [main], { env });
  started.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)));
  while (!text.includes('audited in') && child.exitCode === null) await sleep(20);
  const [, port] = /http:\/\/localhost:(\d+)/.exec(text) ?? [];
  if (port === undefined) throw new Error(`the sample did not start: ${text}`);
  return { process: child, base: `http://127.0.0.1:${Number(port)}`, printed: () => text };
}

async function stop({ process: child }: Sample): Promise<void> {
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
}

/** The answers to `count` calls, as of a client behind the proxy that the sample trusts. */
async function calls(count: number, base: Base, path: string, from: string): Promise<Response[]> {
  const answers: Response[] = [];
  for (let i = 0; i < count; i += 1) {
    answers.push(await fetch(base + path, { headers: { 'x-forwarded-for': from } }));
  }
  return answers;
}

const statuses = (answers: readonly Response[]) => answers.map(({ status }) => status);

/** The rows of an audit file, and the times that they carry. */
function auditRows(file: string) {
  interface Row {
    at: number;
    network: string;
    details: { retryAfter: number };
  }
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line): Row => JSON.parse(line));
}

describe('a refusal', () => {
  let sample: Sample;
  let refusal: Response;

  beforeAll(async () => {
    sample = await start(join(folder, 'refusals.jsonl'));
    const answers = await calls(4, sample.base, '/search/dune?page=1', '203.0.113.1');
    expect(statuses(answers)).toEqual([200, 200, 200, 429]);
    refusal = answers[3];
  });

  it('is a problem document of the type that the draft defines', async () => {
    expect(refusal.headers.get('content-type')).toMatch(/^application\/problem\+json(;|$)/);
    expect(await refusal.json()).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: expect.stringMatching(/^'burst' is used up\. Try again in (9|10) seconds\.$/),
      instance: '/search/dune',
      'violated-policies': ['burst'],
    });
  });

  it('keeps the headers, in both formats', () => {
    const { headers } = refusal;
    expect(headers.get('ratelimit-limit')).toBe('3');
    expect(headers.get('ratelimit-remaining')).toBe('0');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(['9', '10']).toContain(headers.get('retry-after'));
    const [name, left] = parseItem(headers.get('ratelimit') ?? '');
    expect([name, left.get('r')]).toEqual(['burst', 0]);
    expect([29, 30]).toContain(left.get('t'));
    const policies = parseList(headers.get('ratelimit-policy') ?? '');
    expect(policies.map(([policy, quota]) => [policy, Object.fromEntries(quota)])).toEqual([
      ['per-ip', { q: 20, w: 300 }],
      ['burst', { q: 3, w: 30 }],
      ['hourly', { q: 100, w: 3600 }],
    ]);
  });

  it('before routing has the same shape', async () => {
    const refused = (await calls(21, sample.base, '/no/such/route', '203.0.113.2'))[20];
    expect(refused.status).toBe(429);
    expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json(;|$)/);
    expect(await refused.json()).toMatchObject({
      instance: '/no/such/route',
      'violated-policies': ['per-ip'],
    });
    expect(parseItem(refused.headers.get('ratelimit') ?? '')[0]).toBe('per-ip');
  });

  it('is the only answer that changes shape', async () => {
    const [answer] = await calls(1, sample.base, '/no/such/route', '203.0.113.3');
    expect(await answer.json()).toMatchObject({ statusCode: 404, error: 'Not Found' });
  });

  it('is not given by a limit on trial, which the log tells of', async () => {
    const answers = await calls(4, sample.base, '/covers/dune', '203.0.113.4');
    expect(statuses(answers)).toEqual([200, 200, 200, 200]);
    expect(answers[3].headers.get('retry-after')).toBeNull();
    await expect
      .poll(() => sample.printed().match(/\(dry run, not refused\): policy=covers network=203\.0\.113\.4/g))
      .toHaveLength(2);
  });
});

describe('the audit trail', () => {
  it('has one row per network and minute when the sample ends', async () => {
    const file = join(folder, 'audit.jsonl');
    const sample = await start(file);
    const networks = ['203.0.113.7', '2001:db8:0:1::/64'];
    for (const from of ['203.0.113.7', '2001:db8:0:1::a', '2001:db8:0:1::b', '203.0.113.7']) {
      await calls(5, sample.base, '/search/dune', from);
    }
    await stop(sample);
    const rows = auditRows(file);
    // A minute may have ended meanwhile.
    const seen = rows.map(({ network, at }) => `${network} ${Math.floor(at / 60_000)}`);
    expect(new Set(seen).size).toBe(rows.length);
    expect([...new Set(rows.map(({ network }) => network))]).toEqual(networks);
    expect(rows[0]).toEqual({
      action: 'http.rate_limited',
      at: expect.closeTo(Date.now(), -5),
      ip: '203.0.113.7',
      network: '203.0.113.7',
      user: null,
      details: { limit: 'route', policy: 'burst', retryAfter: expect.any(Number), dryRun: false },
    });
  });

  it('has a row of every network in a burst of refusals at once', async () => {
    const file = join(folder, 'burst.jsonl');
    const sample = await start(file);
    const clients = Array.from({ length: 40 }, (_, index) => `198.51.100.${index + 1}`);
    await Promise.all(clients.map((client) => calls(4, sample.base, '/search/dune', client)));
    await stop(sample);
    const audited = new Set(auditRows(file).map(({ network }) => network));
    expect([...audited].toSorted()).toEqual(clients.toSorted());
  });

  it('says once that it cannot be written, and limits go on', async () => {
    const file = join(folder, 'no-such-folder', 'audit.jsonl');
    const sample = await start(file);
    for (const client of ['203.0.113.8', '203.0.113.9']) {
      expect(statuses(await calls(4, sample.base, '/search/dune', client))).toEqual([200, 200, 200, 429]);
    }
    await stop(sample);
    expect(sample.printed().match(/audit: the sink rejected with ENOENT/g)).toHaveLength(1);
    expect(existsSync(file)).toBe(false);
  });
});

describe('the audit file', () => {
  const entry = (network: string): AuditEntry => ({
    action: 'http.rate_limited',
    at: 0,
    ip: network,
    network,
    user: null,
    details: { limit: 'ip', policy: 'per-ip', retryAfter: 1, dryRun: false },
  });
  const networksOf = (path: string) => auditRows(path).map(({ network }) => network);

  async function auditFile(path: string): Promise<AuditFile> {
    const built: typeof import('./src/audit-file.js') = await import(
      pathToFileURL(join(import.meta.dirname, 'dist/audit-file.js')).href
    );
    return new built.AuditFile(path);
  }

  it('is complete when the app has shut down', async () => {
    const path = join(folder, 'shutdown.jsonl');
    const file = await auditFile(path);
    const first = file.write(entry('203.0.113.1'));
    await file.onApplicationShutdown();
    expect(networksOf(path)).toEqual(['203.0.113.1']);
    await first;
    const rest = ['203.0.113.2', '203.0.113.3'].map((network) => file.write(entry(network)));
    // By now the batch is being written.
    await Promise.resolve();
    await Promise.resolve();
    await file.onApplicationShutdown();
    expect(networksOf(path)).toEqual(['203.0.113.1', '203.0.113.2', '203.0.113.3']);
    await Promise.all(rest);
  });

  it('loses the rows of a batch that fails, and none of the next', async () => {
    const path = join(folder, 'later', 'audit.jsonl');
    const file = await auditFile(path);
    const lost = [file.write(entry('203.0.113.1')), file.write(entry('203.0.113.2'))];
    expect(await Promise.allSettled(lost)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
    mkdirSync(join(folder, 'later'));
    await file.write(entry('203.0.113.3'));
    expect(networksOf(path)).toEqual(['203.0.113.3']);
  });
});

describe('the lines to copy', () => {
  it('are answered as the sample and its README say', async () => {
    const sample = await start(join(folder, 'lines.jsonl'));
    const answers: [line: string, statuses: string][] = [];
    for (const line of curlLines(sample.printed())) {
      const shown = line.slice('curl -i '.length).replaceAll(/http:\/\/localhost:\d+/g, '');
      answers.push([shown, statuses(await run(line, sample.base)).join(' ')]);
    }
    expect(answers).toEqual([
      ['/books', '200'],
      ['"/search/dune?[1-4]"', '200 200 200 429'],
      ['"/covers/dune?[1-4]"', '200 200 200 200'],
      ['"/books?[1-21]" -H "X-Forwarded-For: 203.0.113.7"', `${'200 '.repeat(20)}429`],
    ]);
    const readme = curlLines(readFileSync(join(import.meta.dirname, 'README.md'), 'utf8'));
    const printed = curlLines(sample.printed()).map((line) => line.replaceAll(/:\d+\//g, ':3000/'));
    expect(readme).toHaveLength(1);
    expect(printed).toContain(readme[0]);
  });
});

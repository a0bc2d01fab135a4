// docs/seeing-refusals.md shows what an app really logs and answers.
import { Controller, Get } from '@nestjs/common';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RefusalLog } from '../../lib/events/refusal-log.js';
import { MemoryStore, Throttle, type RateLimitOptions } from '../../lib/index.js';
import { HEADER_FORMATS } from '../../lib/responses/headers.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { startApp } from '../e2e/support/app.js';
import { curlLines, run, type Base } from './curl.js';
import { blocksOf } from './markdown.js';
import { launch } from './snippets.js';

const blocks = blocksOf('docs/seeing-refusals.md');
const ofLanguage = (wanted: string) => blocks.filter(({ language }) => language === wanted);
const [report, log, flood] = ofLanguage('text').map(({ text }) => text);

/** Lines of the log without process ids, and without what depends on when it was. */
function withoutTimes(text: string): string {
  return text
    .replaceAll(/^\[Nest\] \d+ +- .*?(?=LOG|WARN|ERROR)/gm, '')
    .replaceAll(/"(at|retryAfter)":\d+/g, '"$1":0');
}

/** What the app says under our names, from the first block of the page to the end. */
function ours(printed: string): string {
  const entries = withoutTimes(printed).split(/^(?=LOG|WARN|ERROR)/m);
  return entries.filter((entry) => /^\w+ \[RateLimit(Audit)?\]/.test(entry)).join('');
}

async function freePort(): Promise<number> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  await once(holder.close(), 'close');
  return port;
}

async function listening(app: ChildProcess, base: Base): Promise<void> {
  while (app.exitCode === null) {
    try {
      await fetch(`${base}/health`, { method: 'OPTIONS' });
      return;
    } catch {
      await sleep(50);
    }
  }
  throw new Error('the app of the page ended before it listened');
}

it('shows what its app logs at boot and on refusals', { timeout: 60_000 }, async () => {
  const port = await freePort();
  const base: Base = `http://127.0.0.1:${port}`;
  const app = launch(ofLanguage('ts')[0], { PORT: String(port) });
  onTestFinished(() => void app.kill('SIGKILL'));
  let printed = '';
  app.stdout.on('data', (chunk) => (printed += String(chunk)));
  await listening(app, base);
  const lines = curlLines(ofLanguage('sh')[0].text);
  expect(lines).toHaveLength(2);
  const answers = [...(await run(lines[0], base)), ...(await run(lines[1], base))];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 200, 200, 200]);
  await expect.poll(() => ours(printed)).toBe(withoutTimes(report + log));
});

it('shows how refusals in a flood are summed up', () => {
  const said: string[] = [];
  const refusals = new RefusalLog((line) => said.push(line));
  const decision = {
    allowed: false,
    policy: 'per-ip',
    limit: 600,
    cost: 1,
    remaining: 0,
    resetAfter: 60,
    retryAfter: 1,
    reason: 'limit-exceeded',
    headers: {},
  } as const;
  const who = { address: '203.0.113.7', network: '203.0.113.7', user: null };
  for (let i = 0; i < 490; i += 1) {
    refusals.record({ type: 'refusal', limit: 'ip', decision, ...who, dryRun: false }, 1);
  }
  refusals.flush(Infinity);
  expect(said).toHaveLength(11);
  expect(`${said[10]}\n`).toBe(flood);
});

describe('the headers in docs/seeing-refusals.md', () => {
  const shown = new Map(ofLanguage('http').map(({ words, text }) => [words[0], text]));

  @Controller()
  class BooksController {
    @Get('search/:word')
    @Throttle({ limit: 3, per: '1m' })
    search() {
      return { found: [] };
    }
  }

  /** The head of the fourth answer, as far as it is ours. */
  async function refusalOf(headers: RateLimitOptions['headers']): Promise<string> {
    const store = new MemoryStore({ clock: new FakeClock() });
    const { port } = await startApp('express', {
      rateLimit: { headers, store },
      controllers: [BooksController],
    });
    const answers = await run(`curl "http://localhost:3000/search/dune?[1-4]"`, `http://127.0.0.1:${port}`);
    const { status, statusText, headers: lines } = answers[3];
    const written = ['ratelimit', 'x-ratelimit'].flatMap((prefix) =>
      ['', '-policy', '-limit', '-remaining', '-reset'].map((part) => prefix + part),
    );
    const head = [...written, 'retry-after', 'cache-control']
      .filter((name) => lines.has(name))
      .map((name) => `${name}: ${lines.get(name)}\n`);
    return `HTTP/1.1 ${status} ${statusText}\n${head.join('')}`;
  }

  it('are of every format', () => {
    expect([...shown.keys()]).toEqual([...HEADER_FORMATS]);
  });

  it.each(HEADER_FORMATS)('are those of %s', async (format) => {
    expect(await refusalOf(format)).toBe(shown.get(format));
  });

  it('are for null those of retry-after', async () => {
    expect(await refusalOf(null)).toBe(shown.get('retry-after'));
  });
});

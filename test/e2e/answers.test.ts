import {
  Catch,
  Controller,
  Get,
  Header,
  Post,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  MemoryStore,
  RateLimitException,
  Throttle,
  type Bucket,
  type Decision,
  type Verdict,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';
import { ADAPTERS, startApp, type RunningApp } from './support/app.js';
import { exchange, send, statuses, type Answer } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

@Controller()
class Routes {
  @Get('ok')
  ok(): object {
    return { ok: true };
  }

  @Get('one')
  @Throttle({ limit: 1, per: '1m', algorithm: 'fixed' })
  one(): object {
    return { ok: true };
  }

  @Get('ten')
  @Throttle({ limit: 10, per: '1m', algorithm: 'fixed' })
  ten(): object {
    return { ok: true };
  }

  @Get('quarter')
  @Throttle({ limit: 1, per: '2160h', algorithm: 'fixed' })
  quarter(): object {
    return { ok: true };
  }

  @Post('cached')
  @Header('Cache-Control', 'public, max-age=300')
  @Throttle({ limit: 1, per: '1m', algorithm: 'fixed' })
  cached(): object {
    return { ok: true };
  }
}

const REFUSED = '{"statusCode":429,"message":"Too Many Requests","error":"Too Many Requests"}';

checkNestVersion();

describe.each(ADAPTERS)('answers on %s', (adapter) => {
  async function at(time: string, path: string, clock = new FakeClock()): Promise<[RunningApp, FakeClock]> {
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: { perIp: null, store: new MemoryStore({ clock }) },
    });
    clock.setWall(new Date(time));
    expect((await send(running, path)).status).toBe(200);
    return [running, clock];
  }

  it('G02 Retry-After is the time left, not the window', async () => {
    const [running, clock] = await at('2026-03-01T12:00:05Z', '/one');
    for (const [time, wait] of [
      ['2026-03-01T12:00:25Z', '35'],
      ['2026-03-01T12:00:59.2Z', '1'],
    ]) {
      clock.setWall(new Date(time));
      const { status, headers } = await send(running, '/one');
      expect([status, headers['retry-after']]).toEqual([429, wait]);
    }
    clock.setWall(new Date('2026-03-01T12:01:00Z'));
    expect(await statuses(running, '/one', 2)).toEqual([200, 429]);
  });

  it('G03, G04 it is a whole number of seconds, rounded up, at least 1', async () => {
    const [running, clock] = await at('2026-03-01T12:00:05Z', '/one');
    for (const [time, wait] of [
      ['2026-03-01T12:00:59.999Z', '1'],
      ['2026-03-01T12:00:59.500Z', '1'],
      ['2026-03-01T12:00:58.600Z', '2'],
      ['2026-03-01T12:00:47.655Z', '13'],
      ['2026-03-01T12:00:18.000Z', '42'],
      ['2026-03-01T12:00:18.999Z', '42'],
    ]) {
      clock.setWall(new Date(time));
      const { status, headers } = await send(running, '/one');
      expect([time, status, headers['retry-after'], headers['ratelimit-reset']]).toEqual([
        time,
        429,
        wait,
        wait,
      ]);
    }
  });

  it('G04 a wait of 90 days is written without an exponent', async () => {
    // The epoch plus a multiple of 90 days.
    const [running] = await at(new Date(90 * 86_400_000 * 230).toISOString(), '/quarter');
    expect((await send(running, '/quarter')).headers['retry-after']).toBe('7776000');
  });

  it.each([0, -5000])('G03 a store that answers a wait of %i µs makes it 1', async (retryAfter) => {
    class OddStore extends MemoryStore {
      override consume(buckets: readonly Bucket[]): Verdict[] {
        const verdicts = super.consume(buckets);
        return verdicts.map((verdict) => ({
          ...verdict,
          allowed: false,
          retryAfter,
          resetAfter: retryAfter,
        }));
      }
    }
    const running = await startApp(adapter, { rateLimit: { store: new OddStore() } });
    const { status, headers } = await send(running, '/');
    expect([status, headers['retry-after']]).toEqual([429, '1']);
    expect(headers['ratelimit-reset']).toMatch(/^[0-9]+$/);
  });

  it('F07, G10 the three headers and the wait come from one clock reading', async () => {
    const [running, clock] = await at('2026-03-01T12:00:20Z', '/ten');
    const headers = async (): Promise<unknown[]> => {
      const answer = await send(running, '/ten');
      return ['limit', 'remaining', 'reset'].map((name) => answer.headers[`ratelimit-${name}`]);
    };
    expect(await headers()).toEqual(['10', '8', '40']);
    expect(await headers()).toEqual(['10', '7', '40']);
    clock.setWall(new Date('2026-03-01T12:00:59.999Z'));
    expect(await headers()).toEqual(['10', '6', '1']);
    clock.setWall(new Date('2026-03-01T12:01:00.000Z'));
    expect(await headers()).toEqual(['10', '9', '60']);
    clock.setWall(new Date('2026-03-01T12:01:18.000Z'));
    expect(await headers()).toEqual(['10', '8', '42']);
    clock.setWall(new Date('2026-03-01T12:01:18.999Z'));
    expect(await headers()).toEqual(['10', '7', '42']);
  });

  it('F03 what remains is never negative and never above the limit', async () => {
    const running = await startApp(adapter, { rateLimit: { perIp: { limit: 3, per: '1m' } } });
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(running, '/')));
    const passed = answers.filter(({ status }) => status === 404);
    expect(passed).toHaveLength(3);
    expect(new Set(passed.map(({ headers }) => headers['ratelimit-remaining']))).toEqual(
      new Set(['0', '1', '2']),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(47);
    for (const { headers } of refused) expect(headers['ratelimit-remaining']).toBe('0');
  });

  it('G11 the body is JSON of one shape, from per IP and from a throttle; HEAD has none', async () => {
    const running = await startApp(adapter, {
      controllers: [Routes],
      rateLimit: { perIp: { limit: 4, per: '1m' } },
    });
    expect(await statuses(running, '/one', 1)).toEqual([200]);
    const throttled = await send(running, '/one');
    const head = await send(running, '/one', { method: 'HEAD' });
    expect(await statuses(running, '/nope', 1)).toEqual([404]);
    const perIp = await send(running, '/nope');
    const perIpHead = await send(running, '/nope', { method: 'HEAD' });
    for (const answer of [throttled, perIp]) {
      expect([answer.status, answer.body]).toEqual([429, REFUSED]);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.headers['content-length']).toBe(String(REFUSED.length));
    }
    for (const answer of [head, perIpHead]) {
      expect([answer.status, answer.body]).toEqual([429, '']);
      expect(answer.headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
    }
    // On the wire, not only in a client that drops it.
    const raw = await exchange(running, 'HEAD /nope HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(raw.endsWith('\r\n\r\n')).toBe(true);
    expect(raw).not.toContain('statusCode');
  });

  it('G08 the refusal of a route with a public max-age is not cacheable', async () => {
    const running = await startApp(adapter, { controllers: [Routes] });
    const good = await send(running, '/cached', { method: 'POST' });
    expect([good.status, good.headers['cache-control']]).toEqual([201, 'public, max-age=300']);
    const refused = await send(running, '/cached', { method: 'POST' });
    expect([refused.status, refused.headers['cache-control']]).toEqual([429, 'no-store']);
  });

  describe('D13', () => {
    const problems: unknown[] = [];
    const note = (problem: unknown): void => void problems.push(problem);
    beforeEach(() => {
      problems.length = 0;
      process.on('unhandledRejection', note).on('uncaughtExceptionMonitor', note);
    });
    afterEach(() => {
      process.off('unhandledRejection', note).off('uncaughtExceptionMonitor', note);
    });

    it('100 refusals at once are 100 answers, and nothing is written twice', async () => {
      const running = await startApp(adapter, {
        controllers: [Routes],
        rateLimit: { perIp: { limit: 1, per: '1m' } },
      });
      expect(await statuses(running, '/ok', 1)).toEqual([200]);
      const answers = await Promise.all(Array.from({ length: 100 }, () => send(running, '/ok')));
      expect(new Set(answers.map(({ status, body }) => `${status} ${body}`))).toEqual(
        new Set([`429 ${REFUSED}`]),
      );
      expect(problems).toEqual([]);
      expect(running.log.all.filter(({ level }) => level === 'error')).toEqual([]);
    });

    it("an app's filter sees the exception with its decision and can reshape the answer", async () => {
      const seen: Decision[] = [];
      @Catch(RateLimitException)
      class Problem implements ExceptionFilter<RateLimitException> {
        catch(exception: RateLimitException, host: ArgumentsHost): void {
          seen.push(exception.decision);
          const { httpAdapter } = running.app.get(HttpAdapterHost);
          const body = { title: 'slow down', status: exception.getStatus() };
          httpAdapter.reply(host.switchToHttp().getResponse(), body, 429);
        }
      }
      const running: RunningApp = await startApp(adapter, {
        controllers: [Routes],
        rateLimit: { perIp: { limit: 2, per: '1m' }, store: new MemoryStore({ clock: new FakeClock() }) },
        filters: [new Problem()],
      });
      expect(await statuses(running, '/one', 1)).toEqual([200]);
      const answers = [await send(running, '/one'), await send(running, '/nope')];
      for (const { status, body, headers } of answers) {
        expect([status, JSON.parse(body)]).toEqual([429, { title: 'slow down', status: 429 }]);
        expect(headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
      }
      expect(seen.map(({ policy, limit, allowed, reason }) => ({ policy, limit, allowed, reason }))).toEqual([
        { policy: 'GET /one', limit: 1, allowed: false, reason: 'limit-exceeded' },
        { policy: 'per-ip', limit: 2, allowed: false, reason: 'limit-exceeded' },
      ]);
    });
  });
});

describe('D08 the same on both adapters', () => {
  it('statuses, headers and bodies are equal, byte for byte', async () => {
    const answers = async (adapter: 'express' | 'fastify'): Promise<unknown[]> => {
      const running = await startApp(adapter, {
        controllers: [Routes],
        rateLimit: { perIp: { limit: 8, per: '1m' }, store: new MemoryStore({ clock: new FakeClock() }) },
        enableCors: { origin: ['https://app.example'], exposedHeaders: ['X-Total'] },
      });
      const all: Answer[] = [];
      for (const path of ['/ok', '/one', '/one', '/ten', '/nope', '/cached', '/ok', '/ok', '/ok', '/nope']) {
        all.push(await send(running, path, { headers: { origin: 'https://app.example' } }));
      }
      all.push(await send(running, '/ok', { method: 'HEAD' }));
      return all.map(({ status, headers, body }) => {
        // Of Express alone: its name, and a tag of each body.
        const { date: _date, 'x-powered-by': _name, etag: _tag, ...rest } = headers;
        return { status, body, rest };
      });
    };
    const [express, fastify] = [await answers('express'), await answers('fastify')];
    expect(fastify).toEqual(express);
    expect(JSON.stringify(express)).toContain('429');
  });
});

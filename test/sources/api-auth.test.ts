import { Controller, Get, Injectable, UseGuards, UseInterceptors } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import {
  ApiGuard,
  AuthInterceptor,
  Authenticator,
  Cost,
  MemoryStore,
  RateLimitService,
  type Authentication,
} from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/index.js';
import { ADAPTERS, startApp, type AdapterName } from '../e2e/support/app.js';
import { send, statuses } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';

interface Request {
  readonly headers: { readonly authorization?: string | string[] };
}

/** Knows two keys; the second may be used from 127.0.0.9 only. */
@Injectable()
class Keys extends Authenticator {
  on = true;
  readonly looked: string[] = [];

  override isEnabled(): boolean {
    return this.on;
  }

  override async authenticate({ headers }: Request, address: string | null): Promise<Authentication> {
    const token = String(headers.authorization ?? '');
    if (token === '') return 'missing';
    this.looked.push(token);
    if (token === 'Bearer good') return { key: 'good-id' };
    if (token === 'Bearer bound') return address === '127.0.0.9' ? { key: 'bound-id' } : 'forbidden';
    return 'invalid';
  }
}

@Controller('guarded')
@UseGuards(ApiGuard)
class Guarded {
  @Get()
  @Cost(20)
  list(): string {
    return 'listed';
  }
}

@Controller('intercepted')
@UseInterceptors(AuthInterceptor)
class Intercepted {
  @Get()
  @Cost(20)
  list(): string {
    return 'listed';
  }
}

const WAYS = ['/guarded', '/intercepted'];
const NOBODY = '127.0.0.2';
const as = (token: string, from = NOBODY) => ({ headers: { authorization: `Bearer ${token}` }, from });

async function start(adapter: AdapterName, adminRatePerMin = 600) {
  const clock = new FakeClock(new Date('2026-03-01T12:00:18Z'));
  const running = await startApp(adapter, {
    controllers: [Guarded, Intercepted],
    providers: [Keys, { provide: Authenticator, useExisting: Keys }],
    rateLimit: {
      perIp: null,
      limits: { adminPreauthFailPerMin: 3, adminRatePerMin },
      store: new MemoryStore({ clock }),
    },
  });
  const service = running.app.get(RateLimitService);
  /** Failures that an address has left. */
  const left = async (address: string) => (await service.checkPreauth(address)).remaining;
  return { running, clock, left, keys: running.app.get(Keys) };
}

checkNestVersion();

describe.each(ADAPTERS)('guessing keys on %s', (adapter) => {
  it('SA-17 only what was rejected is charged, never a call that passes or brings no key', async () => {
    const { running, left } = await start(adapter);
    for (const path of WAYS) {
      expect(await statuses(running, path, 3, as('good'))).toEqual([200, 200, 200]);
      expect(await statuses(running, path, 3, { from: NOBODY })).toEqual([401, 401, 401]);
    }
    expect(await left(NOBODY)).toBe(3);
    expect(await statuses(running, WAYS[0], 1, as('guess'))).toEqual([401]);
    expect(await left(NOBODY)).toBe(2);
    expect(await statuses(running, WAYS[1], 1, as('guess'))).toEqual([401]);
    expect(await left(NOBODY)).toBe(1);
  });

  it('SA-18 an exhausted address turns 401 into 429 without a further charge, and lets a valid key pass', async () => {
    const { running, clock, left } = await start(adapter);
    expect(await statuses(running, '/guarded', 5, as('guess'))).toEqual([401, 401, 401, 429, 429]);
    expect(await left(NOBODY)).toBe(0);
    for (const path of WAYS) {
      const passed = await send(running, path, as('good'));
      expect([passed.status, passed.headers['ratelimit-limit']]).toEqual([200, '600']);
    }
    const refused = await send(running, '/intercepted', as('guess'));
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '42']);
    expect(refused.headers).not.toHaveProperty('ratelimit-limit');
    // Had the refusals been charged, the next minute would begin with less.
    clock.advance('42s');
    expect(await statuses(running, '/guarded', 4, as('guess'))).toEqual([401, 401, 401, 429]);
  });

  it('SA-19 who guesses behind a shared address locks nobody out', async () => {
    const { running } = await start(adapter);
    const guesses = await Promise.all(
      Array.from({ length: 30 }, () => send(running, '/guarded', as('guess'))),
    );
    expect(guesses.filter(({ status }) => status === 401)).toHaveLength(3);
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(27);
    expect(await statuses(running, '/guarded', 10, as('good'))).toEqual(Array(10).fill(200));
  });

  it('SA-20 the switch comes first, then the URL, then the key, then what the key has left', async () => {
    const { running, left, keys } = await start(adapter, 30);
    for (const path of WAYS) {
      keys.on = false;
      expect((await send(running, `${path}?token=good`, as('good'))).status).toBe(404);
      keys.on = true;
      expect((await send(running, `${path}?token=good`, as('good'))).status).toBe(400);
    }
    expect(keys.looked).toEqual([]);
    expect(await left(NOBODY)).toBe(3);
    // Wrong keys 401, a right one from a wrong place 403, all from one bucket.
    expect(await statuses(running, '/guarded', 1, as('guess'))).toEqual([401]);
    expect(await statuses(running, '/intercepted', 2, as('bound'))).toEqual([403, 403]);
    expect(await statuses(running, '/guarded', 1, as('bound'))).toEqual([429]);
    expect(await statuses(running, '/guarded', 1, as('bound', '127.0.0.9'))).toEqual([200]);
    // A valid key, but over its own 30 units: its cost is 20.
    expect(await statuses(running, '/guarded', 2, as('good'))).toEqual([200, 429]);
  });

  it('SA-21 answers of 401 are limited per address, not the tries of all others', async () => {
    const { running, left } = await start(adapter);
    expect(await statuses(running, '/guarded', 4, as('guess'))).toEqual([401, 401, 401, 429]);
    expect(await statuses(running, '/guarded', 4, as('guess', '127.0.0.3'))).toEqual([401, 401, 401, 429]);
    expect([await left(NOBODY), await left('127.0.0.3'), await left('127.0.0.4')]).toEqual([0, 0, 3]);
  });

  it('SA-22 a lookup happens for every key that is tried, answered 429 or not: none is remembered as wrong', async () => {
    const { running, keys } = await start(adapter);
    expect(await statuses(running, '/guarded', 6, as('guess'))).toEqual([401, 401, 401, 429, 429, 429]);
    expect(keys.looked).toEqual(Array(6).fill('Bearer guess'));
  });
});

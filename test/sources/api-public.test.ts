import { inspect } from 'node:util';
import { Body, Controller, Get, Injectable, Post, UseGuards, type CanActivate } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { Cost, MemoryStore, PublicTool, RateLimitService, type ApiLimitNumbers } from '../../lib/index.js';
import { FakeClock } from '../../lib/testing/index.js';
import { ADAPTERS, startApp } from '../e2e/support/app.js';
import { send } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { ONE, OTHER, outcomes, startService } from './support/service.js';

checkNestVersion();

describe('checkPublic', () => {
  it('SA-31 asks for room in the network first, and charges both; the network what it is told to', async () => {
    const { service } = await startService({ publicIpRatePerMin: 40, publicTokenRatePerMin: 20 });
    const left = async () => [
      (await service.checkPublic(ONE, null, 1, 0)).remaining,
      // Another network, which has more room than the token: the look costs the token one.
      (await service.checkPublic(OTHER, 't', 1, 0)).remaining,
    ];
    await service.checkPublic(ONE, 't', 5);
    expect(await left()).toEqual([35, 14]);
    await service.checkPublic(ONE, 't', 5, 2);
    expect(await left()).toEqual([33, 8]);
    await service.checkPublic(ONE, 't', 5, 0);
    expect(await left()).toEqual([33, 2]);
    // No room in the network: the token isn't charged either.
    expect(await service.checkPublic(ONE, 't', 1, 34)).toMatchObject({ allowed: false, limit: 40 });
    expect(await left()).toEqual([33, 1]);
  });

  it('SA-43 creates no counter of a token for a network that is full, of however many tokens', async () => {
    const { service, store } = await startService({ publicIpRatePerMin: 1 });
    await service.checkPublic(ONE, null, 1);
    expect(store.size).toBe(1);
    let token = 0;
    expect(await outcomes(200, () => service.checkPublic(ONE, `random-${token++}`, 1))).toEqual(
      Array(200).fill(false),
    );
    expect(store.size).toBe(1);
  });

  it('SA-44 leaves a network uncharged by what a token is refused, but for the unit paid before', async () => {
    const { service } = await startService({ publicIpRatePerMin: 100, publicTokenRatePerMin: 10 });
    const call = async (token: string) => {
      expect((await service.checkPublic(ONE, null, 1)).allowed).toBe(true);
      return (await service.checkPublic(ONE, token, 10, 9)).allowed;
    };
    expect(await call('loud')).toBe(true);
    for (let hammering = 0; hammering < 40; hammering++) expect(await call('loud')).toBe(false);
    // 10 for the call that passed, 40 for the lookups of the others.
    expect((await service.checkPublic(ONE, null, 1, 0)).remaining).toBe(50);
    expect(await call('quiet')).toBe(true);
  });

  it('SA-45 tells about the bucket with the least room, whichever that is', async () => {
    const { service } = await startService({ publicIpRatePerMin: 20, publicTokenRatePerMin: 12 });
    const tell = async (token: string | null, cost: number) => {
      const { headers } = await service.checkPublic(ONE, token, cost);
      return `${headers['ratelimit-remaining']} of ${headers['ratelimit-limit']}`;
    };
    expect(await tell('a', 4)).toBe('8 of 12');
    expect(await tell('b', 4)).toBe('8 of 12');
    expect(await tell('b', 4)).toBe('4 of 12');
    // 12 of the network are gone.
    expect(await tell('c', 2)).toBe('6 of 20');
  });
});

@Injectable()
class Lookup implements CanActivate {
  static calls = 0;

  canActivate(): boolean {
    Lookup.calls++;
    return true;
  }
}

@Controller('tools')
class Tools {
  @Post('search')
  @PublicTool('session')
  @Cost(5)
  @UseGuards(Lookup)
  search(@Body() body: unknown): unknown {
    return body;
  }

  @Get('status')
  @PublicTool('session')
  status(): string {
    return 'up';
  }
}

describe.each(ADAPTERS)('a public tool on %s', (adapter) => {
  async function start(limits: ApiLimitNumbers) {
    const clock = new FakeClock(new Date('2026-03-01T12:00:18Z'));
    const store = new MemoryStore({ clock });
    const running = await startApp(adapter, {
      controllers: [Tools],
      rateLimit: { perIp: null, limits, store },
    });
    const search = async (session?: string, from?: string) => {
      const { status, headers } = await send(running, '/tools/search', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(session === undefined ? {} : { session }),
        ...(from === undefined ? {} : { from }),
      });
      return [status, headers['ratelimit-limit'], headers['ratelimit-remaining']].join(' ');
    };
    return { running, store, search };
  }

  it('SA-15 knows a caller without a key by the digest of the input field that its tool names', async () => {
    const { running, store, search } = await start({ publicTokenRatePerMin: 10 });
    expect(await search('s3cr3t-session')).toBe('201 10 5');
    // The same caller from another address, and as the tool for GET has it: in the query.
    expect(await search('s3cr3t-session', '127.0.0.2')).toBe('201 10 0');
    expect((await send(running, '/tools/status?session=s3cr3t-session')).status).toBe(429);
    expect((await send(running, '/tools/status?session=another')).status).toBe(200);
    // Without a token only the network counts: 12 of its units are gone, one of them for the call that was refused.
    expect(await search()).toBe('201 120 108');
    expect(inspect(store, { depth: Infinity, showHidden: true })).not.toContain('s3cr3t');
  });

  it('SA-42 costs its price in each bucket: one unit of the network ahead of the lookup, then the rest', async () => {
    const { running, search } = await start({ publicIpRatePerMin: 11, publicTokenRatePerMin: 5 });
    const service = running.app.get(RateLimitService);
    const left = async () => (await service.checkPublic('127.0.0.1', null, 1, 0)).remaining;
    Lookup.calls = 0;
    expect([await search('a'), await left()]).toEqual(['201 5 0', 6]);
    expect([await search('b'), await left()]).toEqual(['201 5 0', 1]);
    // There is room for the lookup, and none for the rest.
    expect([await search('c'), await left()]).toEqual(['429 11 0', 0]);
    expect(Lookup.calls).toBe(3);
    // And this one is refused ahead of its lookup.
    expect(await search('d')).toBe('429 11 0');
    expect(Lookup.calls).toBe(3);
    // Neither has cost its token anything.
    expect(await search('c', '127.0.0.2')).toBe('201 5 0');
    expect(await search('d', '127.0.0.3')).toBe('201 5 0');
  });
});

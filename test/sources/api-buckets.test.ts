import { Injectable, Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { describe, expect, it } from 'vitest';
import {
  MemoryStore,
  RateLimitService,
  RateLimitStore,
  type Bucket,
  type ServiceDecision,
  type Verdict,
} from '../../lib/index.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { ONE, OTHER, outcomes, startService } from './support/service.js';

checkNestVersion();

describe('where the counters of a machine API live', () => {
  it('SA-03 all of them are in the one store of the module, under names that no other limit uses', async () => {
    const asked: Bucket[] = [];
    class Watched extends MemoryStore {
      override consume(buckets: readonly Bucket[]): Verdict[] {
        asked.push(...buckets);
        return super.consume(buckets);
      }
    }
    const store = new Watched();
    const { app, service } = await startService(
      { adminRatePerMin: 1 },
      { store, policies: { 'admin-key': { limit: 1, per: '1m' } } },
    );
    expect(app.get(RateLimitStore)).toBe(store);
    await service.checkAdmin('k', 1);
    await service.checkUser('k', 1);
    await service.checkPublic(ONE, 'k', 1);
    await service.checkNewRows(ONE);
    await service.recordAuthFailure(ONE);
    expect(asked).toHaveLength(7);
    expect(new Set(asked.map(({ namespace }) => namespace)).size).toBe(7);
    expect(store.size).toBe(7);
    // A policy of the app may have the same name and be asked for the same key: it is another counter.
    expect((await service.consume('admin-key', 'k')).allowed).toBe(true);
    expect(asked.slice(0, 7).map(({ namespace }) => namespace)).not.toContain(asked[7].namespace);
  });

  it('SA-04 a window begins with the minute of the wall clock, and each process counts by itself', async () => {
    const here = await startService({ adminRatePerMin: 5 });
    const there = await startService({ adminRatePerMin: 5 });
    expect(await here.service.checkAdmin('k', 5)).toMatchObject({ allowed: true, resetAfter: 42 });
    expect((await here.service.checkAdmin('k', 1)).allowed).toBe(false);
    expect((await there.service.checkAdmin('k', 5)).allowed).toBe(true);
    here.clock.setWall(new Date('2026-03-01T12:00:59.999Z'));
    expect((await here.service.checkAdmin('k', 1)).allowed).toBe(false);
    // All at once, 42 seconds after the first call: no window of its own begins with a call.
    here.clock.setWall(new Date('2026-03-01T12:01:00Z'));
    expect(await here.service.checkAdmin('k', 5)).toMatchObject({ allowed: true, resetAfter: 60 });
  });

  it('SA-05 an edited limit holds from the next call on, with what was counted before', async () => {
    const { app, service } = await startService();
    const config = app.get(ConfigService, { strict: false });
    await service.checkPublic(ONE, null, 100);
    config.set('rateLimit.limits.publicIpRatePerMin', 100);
    expect(await service.checkPublic(ONE, null, 1)).toMatchObject({ allowed: false, limit: 100 });
    config.set('rateLimit.limits.publicIpRatePerMin', 101);
    expect(await service.checkPublic(ONE, null, 1)).toMatchObject({ allowed: true, remaining: 0 });
  });
});

describe('the buckets of a machine API', () => {
  it('SA-07 failed authentications have 10 a minute per client network, and nothing else counts there', async () => {
    const { service, clock } = await startService();
    await service.checkAdmin('k', 50);
    await service.checkPublic(ONE, null, 50);
    expect(await outcomes(11, () => service.recordAuthFailure(ONE))).toEqual([
      ...Array<boolean>(10).fill(true),
      false,
    ]);
    expect((await service.recordAuthFailure(OTHER)).allowed).toBe(true);
    clock.advance('42s');
    expect((await service.recordAuthFailure(ONE)).allowed).toBe(true);
  });

  it('SA-08 an API key has a sum of cost units a minute, whatever the number of its calls', async () => {
    const { service, clock } = await startService({ adminRatePerMin: 10 });
    const units = async (key: string, ...costs: number[]): Promise<boolean[]> => {
      const allowed: boolean[] = [];
      for (const cost of costs) allowed.push((await service.checkAdmin(key, cost)).allowed);
      return allowed;
    };
    expect(await units('a', 7, 4, 3, 1)).toEqual([true, false, true, false]);
    expect(await units('b', 10)).toEqual([true]);
    clock.advance('42s');
    expect(await units('a', 10, 1)).toEqual([true, false]);
  });

  it('SA-09 so has a user who acts through a session, under the same setting', async () => {
    const { service, clock } = await startService({ adminRatePerMin: 10 });
    expect(await service.checkUser('ada', 9)).toMatchObject({ allowed: true, limit: 10, remaining: 1 });
    expect((await service.checkUser('ada', 2)).allowed).toBe(false);
    expect((await service.checkUser('bob', 2)).allowed).toBe(true);
    clock.advance('42s');
    expect((await service.checkUser('ada', 10)).allowed).toBe(true);
  });

  it('SA-10 a client token has its units a minute wherever it is used', async () => {
    const { service, clock } = await startService({ publicTokenRatePerMin: 6 });
    expect(await service.checkPublic(ONE, 't', 4)).toMatchObject({ allowed: true, limit: 6, remaining: 2 });
    expect((await service.checkPublic(OTHER, 't', 3)).allowed).toBe(false);
    expect((await service.checkPublic(ONE, 'u', 3)).allowed).toBe(true);
    clock.advance('42s');
    expect((await service.checkPublic(OTHER, 't', 6)).allowed).toBe(true);
  });

  it('SA-11 a client network has its units a minute over all of its tokens', async () => {
    const { service, clock } = await startService({ publicIpRatePerMin: 6 });
    expect((await service.checkPublic(ONE, 't', 4)).allowed).toBe(true);
    expect((await service.checkPublic(ONE, 'u', 3)).allowed).toBe(false);
    expect(await service.checkPublic(ONE, null, 2)).toMatchObject({ allowed: true, limit: 6, remaining: 0 });
    expect((await service.checkPublic(OTHER, 'u', 3)).allowed).toBe(true);
    clock.advance('42s');
    expect((await service.checkPublic(ONE, 'u', 6)).allowed).toBe(true);
  });

  it('SA-12 new rows of one client network are limited by the hour of the clock', async () => {
    const { service, clock } = await startService({ publicNewRowsPerIpHour: 2 });
    expect(await outcomes(3, () => service.checkNewRows(ONE))).toEqual([true, true, false]);
    expect(await service.checkNewRows(ONE)).toMatchObject({ retryAfter: 3600 - 18, limit: 2 });
    expect((await service.checkNewRows(OTHER)).allowed).toBe(true);
    clock.advance('59m');
    expect((await service.checkNewRows(ONE)).allowed).toBe(false);
    clock.advance('42s');
    expect(await outcomes(3, () => service.checkNewRows(ONE))).toEqual([true, true, false]);
  });

  it('SA-13 and those of all clients together are', async () => {
    const { service, clock } = await startService({ publicNewRowsGlobalHour: 3 });
    const passed: boolean[] = [];
    for (const last of [1, 2, 3, 4]) passed.push((await service.checkNewRows(`203.0.113.${last}`)).allowed);
    expect(passed).toEqual([true, true, true, false]);
    expect(await service.checkNewRows('198.51.100.1')).toMatchObject({ limit: 3, retryAfter: 3600 - 18 });
    clock.advance('3582s');
    expect((await service.checkNewRows('198.51.100.1')).allowed).toBe(true);
  });

  it('SA-14 IPv4 clients are counted one by one, IPv6 clients by their /64', async () => {
    const { service } = await startService({ adminPreauthFailPerMin: 1 });
    const passes = async (ip: string) => (await service.recordAuthFailure(ip)).allowed;
    expect([await passes('192.0.2.1'), await passes('192.0.2.2'), await passes('192.0.2.1')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await passes('2001:db8:1:2::1')).toBe(true);
    expect(await passes('2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe(false);
    expect(await passes('2001:db8:1:3::1')).toBe(true);
  });

  it('SA-16 modules that create rows charge one quota, each by itself and all together', async () => {
    @Injectable()
    class Comments {
      constructor(private readonly rateLimit: RateLimitService) {}

      add(): Promise<ServiceDecision> {
        return this.rateLimit.checkNewRows(ONE);
      }
    }
    @Module({ providers: [Comments] })
    class CommentsModule {}
    @Injectable()
    class Orders {
      constructor(private readonly rateLimit: RateLimitService) {}

      place(): Promise<ServiceDecision> {
        return this.rateLimit.checkNewRows(ONE);
      }
    }
    @Module({ providers: [Orders] })
    class OrdersModule {}
    const { app } = await startService({ publicNewRowsPerIpHour: 3 }, {}, [CommentsModule, OrdersModule]);
    const [comments, orders] = [app.get(Comments), app.get(Orders)];
    expect((await comments.add()).remaining).toBe(2);
    expect((await orders.place()).remaining).toBe(1);
    expect((await comments.add()).remaining).toBe(0);
    expect((await orders.place()).allowed).toBe(false);
  });
});

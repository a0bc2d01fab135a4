import { ConfigService } from '@nestjs/config';
import { describe, expect, it } from 'vitest';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { ONE, OTHER, outcomes, startService } from './support/service.js';

checkNestVersion();

describe('checkAdmin', () => {
  it('SA-26 takes the cost from the bucket of the key it is given', async () => {
    const { service } = await startService({ adminRatePerMin: 100 });
    expect(await service.checkAdmin('a', 30)).toMatchObject({ cost: 30, limit: 100, remaining: 70 });
    expect(await service.checkAdmin('a', 1)).toMatchObject({ cost: 1, remaining: 69 });
    expect(await service.checkAdmin('b', 1)).toMatchObject({ remaining: 99 });
  });

  it('SA-35 charges units of cost once for all who call at once, and what it charged can be given back', async () => {
    const { service } = await startService({ adminRatePerMin: 100 });
    const answers = await Promise.all(Array.from({ length: 50 }, () => service.checkAdmin('a', 7)));
    const paid = answers.filter(({ allowed }) => allowed);
    expect(paid).toHaveLength(14);
    expect(paid.at(-1)).toMatchObject({ remaining: 2 });
    const receipt = paid[0].receipt;
    expect(receipt !== null && (await service.refund(receipt))).toBe(true);
    expect(await service.checkAdmin('a', 9)).toMatchObject({ allowed: true, remaining: 0 });
  });
});

describe('checkUser', () => {
  it('SA-32 has one bucket per user over all sessions, none of it shared with the keys of that user', async () => {
    const { service, store } = await startService({ adminRatePerMin: 3 });
    // Sessions of a user have the user's id in common, and nothing else is asked for.
    const sessions = [{ user: 'ada' }, { user: 'ada' }, { user: 'ada' }, { user: 'ada' }];
    const passed: boolean[] = [];
    for (const { user } of sessions) passed.push((await service.checkUser(user, 1)).allowed);
    expect(passed).toEqual([true, true, true, false]);
    // A key that is even called like the user.
    expect(await service.checkAdmin('ada', 3)).toMatchObject({ allowed: true, remaining: 0 });
    expect((await service.checkUser('ada', 1)).allowed).toBe(false);
    expect(store.size).toBe(2);
  });

  it('SA-33 is limited by the setting for keys, also when that is edited', async () => {
    const { app, service } = await startService();
    const config = app.get(ConfigService, { strict: false });
    for (const limit of [40, 70]) {
      config.set('rateLimit.limits.adminRatePerMin', limit);
      expect((await service.checkUser('ada', 1)).limit).toBe(limit);
      expect((await service.checkAdmin('k', 1)).limit).toBe(limit);
    }
  });
});

describe('checkNewRows', () => {
  it('SA-27 counts one row against both hourly limits, or against neither', async () => {
    const { service } = await startService({ publicNewRowsPerIpHour: 2, publicNewRowsGlobalHour: 3 });
    expect(await outcomes(4, () => service.checkNewRows(ONE))).toEqual([true, true, false, false]);
    // The two refusals have cost the others nothing: one row is left for all.
    expect(await outcomes(2, () => service.checkNewRows(OTHER))).toEqual([true, false]);
    // And what was refused for all has cost this network nothing.
    expect(await service.checkNewRows(OTHER)).toMatchObject({ limit: 3, remaining: 0 });
  });

  it('SA-28 has no part for callers with a key, who create rows within their own budget', async () => {
    const { service, store } = await startService({ publicNewRowsPerIpHour: 1 });
    expect(await outcomes(5, () => service.checkAdmin('k', 1))).toEqual(Array(5).fill(true));
    expect(store.size).toBe(1);
    expect(await outcomes(2, () => service.checkNewRows(ONE))).toEqual([true, false]);
    expect((await service.checkAdmin('k', 1)).allowed).toBe(true);
  });

  it('SA-37 lets exactly as many of the rows through that are created at once', async () => {
    const { service } = await startService({ publicNewRowsPerIpHour: 4, publicNewRowsGlobalHour: 6 });
    const create = (ip: string) =>
      Promise.all(Array.from({ length: 10 }, () => service.checkNewRows(ip))).then(
        (answers) => answers.filter(({ allowed }) => allowed).length,
      );
    expect(await Promise.all([create(ONE), create(OTHER)])).toEqual([4, 2]);
  });

  it('SA-38 keeps one quota for callers whose address nobody knows, rather than none', async () => {
    const { service } = await startService({ publicNewRowsPerIpHour: 2 });
    expect(await outcomes(3, () => service.checkNewRows(null))).toEqual([true, true, false]);
    expect((await service.checkNewRows(ONE)).allowed).toBe(true);
  });
});

describe('checkPreauth', () => {
  it('SA-29 says of an address whether one more failure would be answered', async () => {
    const { service } = await startService({ adminPreauthFailPerMin: 2 });
    for (const expected of [true, true, false]) {
      expect((await service.checkPreauth(ONE)).allowed).toBe(expected);
      expect((await service.recordAuthFailure(ONE)).allowed).toBe(expected);
    }
    expect((await service.checkPreauth(OTHER)).allowed).toBe(true);
  });

  it('SA-30 makes no counter, however often it is asked', async () => {
    const { service, store } = await startService({ adminPreauthFailPerMin: 1 });
    expect(await outcomes(20, () => service.checkPreauth(ONE))).toEqual(Array(20).fill(true));
    expect(store.size).toBe(0);
    expect((await service.checkPreauth(ONE)).receipt).toBeNull();
  });

  it('SA-39 answers for the whole network of an address', async () => {
    const { service } = await startService({ adminPreauthFailPerMin: 1 });
    await service.recordAuthFailure('2001:db8:1:2::1');
    expect((await service.checkPreauth('2001:db8:1:2::2')).allowed).toBe(false);
    expect((await service.checkPreauth('2001:db8:1:3::1')).allowed).toBe(true);
  });

  it('SA-40 leaves an exhausted bucket as it is, and the wait shrinks by the clock alone', async () => {
    const { service, clock } = await startService({ adminPreauthFailPerMin: 1 });
    await service.recordAuthFailure(ONE);
    for (const [wait, passed] of [
      [42, '1s'],
      [41, '40s'],
      [1, '1s'],
    ] as const) {
      expect(await outcomes(10, () => service.checkPreauth(ONE))).toEqual(Array(10).fill(false));
      expect((await service.checkPreauth(ONE)).retryAfter).toBe(wait);
      clock.advance(passed);
    }
    expect((await service.checkPreauth(ONE)).allowed).toBe(true);
  });

  it('SA-41 gives the seconds to wait once the failures of this minute have reached the setting', async () => {
    const { app, service } = await startService();
    app.get(ConfigService, { strict: false }).set('rateLimit.limits.adminPreauthFailPerMin', 3);
    const waits: unknown[] = [];
    for (let failed = 0; failed < 4; failed++) {
      waits.push((await service.checkPreauth(ONE)).retryAfter);
      await service.recordAuthFailure(ONE);
    }
    expect(waits).toEqual([0, 0, 0, 42]);
  });
});

describe('recordAuthFailure', () => {
  it('SA-34 takes exactly one failure from the address', async () => {
    const { service } = await startService({ adminPreauthFailPerMin: 5 });
    const left: number[] = [];
    for (let failed = 0; failed < 5; failed++) left.push((await service.recordAuthFailure(ONE)).remaining);
    expect(left).toEqual([4, 3, 2, 1, 0]);
    expect((await service.checkPreauth(ONE)).remaining).toBe(0);
  });

  it('SA-47 counts those of unknown addresses together', async () => {
    const { service } = await startService({ adminPreauthFailPerMin: 2 });
    expect((await service.recordAuthFailure(null)).allowed).toBe(true);
    expect((await service.recordAuthFailure('not an address')).allowed).toBe(true);
    expect((await service.recordAuthFailure(null)).allowed).toBe(false);
    expect((await service.recordAuthFailure(ONE)).allowed).toBe(true);
  });
});

import { describe, expect, it } from 'vitest';
import { createRate, type Rate } from '../../lib/algorithms/rate.js';
import { Limiter } from '../../lib/limiter/limiter.js';
import { PerIpPolicy } from '../../lib/policies/per-ip.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../lib/testing/fake-clock.js';

const MINUTE = 60e6;

function setup(rate: () => Rate | null) {
  const clock = new FakeClock();
  const limiter = new Limiter(new MemoryStore({ clock }), 100);
  const policy = new PerIpPolicy(rate, false);
  const consume = (network: string) => {
    const bucket = policy.bucket(network);
    return bucket === null ? null : limiter.consume([bucket]);
  };
  return { clock, perIp: { consume } };
}

describe('PerIpPolicy', () => {
  it('F02 admits N requests of a network, and the next one after a N-th of the window', () => {
    for (const limit of [1, 2, 10]) {
      const rate = createRate('gcra', limit, MINUTE);
      const { clock, perIp } = setup(() => rate);
      for (let sent = 0; sent < limit; sent++) {
        expect(perIp.consume('192.0.2.1')).toMatchObject([{ allowed: true, remaining: limit - 1 - sent }]);
      }
      expect(perIp.consume('192.0.2.1')).toMatchObject([{ allowed: false, retryAfter: MINUTE / limit }]);
      clock.advanceMicroseconds(MINUTE / limit);
      expect(perIp.consume('192.0.2.1')).toMatchObject([{ allowed: true }]);
      expect(perIp.consume('192.0.2.1')).toMatchObject([{ allowed: false }]);
    }
  });

  it('counts each network by itself, under its own name', () => {
    const rate = createRate('gcra', 1, MINUTE);
    const { perIp } = setup(() => rate);
    void perIp.consume('192.0.2.1');
    expect(perIp.consume('192.0.2.2')).toMatchObject([
      { allowed: true, bucket: { policy: 'per-ip', namespace: 'network:per-ip', key: '192.0.2.2', cost: 1 } },
    ]);
  });

  it('is off while its rate is null, and counts again afterwards', () => {
    const rate = createRate('gcra', 1, MINUTE);
    let now: Rate | null = null;
    const { perIp } = setup(() => now);
    for (let sent = 0; sent < 5; sent++) expect(perIp.consume('192.0.2.1')).toBeNull();
    now = rate;
    expect(perIp.consume('192.0.2.1')).toMatchObject([{ allowed: true }]);
    expect(perIp.consume('192.0.2.1')).toMatchObject([{ allowed: false }]);
  });

  it('C08 keeps the share used when its limit is edited', () => {
    let rate = createRate('gcra', 100, MINUTE);
    const { perIp } = setup(() => rate);
    for (let sent = 0; sent < 50; sent++) void perIp.consume('192.0.2.1');
    rate = createRate('gcra', 60, MINUTE);
    const admitted = Array.from({ length: 60 }, () => perIp.consume('192.0.2.1'))
      .flatMap((verdicts) => (verdicts instanceof Promise ? [] : verdicts))
      .filter((verdict) => verdict?.allowed);
    expect(admitted).toHaveLength(30);
  });

  it('says whether it is on trial', () => {
    expect(new PerIpPolicy(() => null, true).dryRun).toBe(true);
    expect(new PerIpPolicy(() => null, false).dryRun).toBe(false);
  });
});

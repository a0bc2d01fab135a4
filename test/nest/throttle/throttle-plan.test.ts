import { describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../../lib/events/event.js';
import { SkipThrottle, Throttle, type Call, type Quota } from '../../../lib/index.js';
import { rateOf } from '../../../lib/nest/quota.js';
import { ThrottlePlanner } from '../../../lib/nest/throttle/throttle-plan.js';

const CALL: Call = {
  transport: 'http',
  address: '192.0.2.1',
  network: '192.0.2.1',
  user: 'u1',
  key: null,
  context: null,
  request: null,
};

function setup(throttles: Quota[] = [], policies: Record<string, Quota> = {}) {
  const events: RateLimitEvent[] = [];
  const report = (event: RateLimitEvent): void => void events.push(event);
  const planner = new ThrottlePlanner(
    {
      throttles: throttles.map((quota) => ({ quota, rate: rateOf(quota, 'throttle.limit', report) })),
      policies: new Map(Object.entries(policies)),
    },
    report,
  );
  const plan = (controller: Function, method: string) => {
    const findings: string[] = [];
    const limits = planner.limits(controller, method, `GET /${method}`, findings);
    return {
      findings,
      shown: limits.map(({ name }) => name),
      counted: limits.map((limit) => limit.bucket(CALL)?.namespace),
      limits: limits.map((limit) => limit.bucket(CALL)?.rate.limit),
    };
  };
  return { events, plan };
}

class Reports {
  list(): void {}

  @Throttle({ limit: 5, per: '1m' })
  own(): void {}

  @Throttle(['exports', { limit: 3, per: '1h' }, { limit: 4, per: '1h', name: 'daily', by: 'ip' }])
  mixed(): void {}

  @SkipThrottle({ daily: true })
  skipped(): void {}
}

const EXPORTS: Record<string, Quota> = { exports: { limit: 2, per: '1m' } };

describe('ThrottlePlanner', () => {
  it('gives a handler its own limits, else those of the module, else none', () => {
    expect(setup().plan(Reports, 'list')).toMatchObject({ shown: [], findings: [] });
    const { plan } = setup(
      [
        { limit: 9, per: '1m' },
        { limit: 90, per: '1h' },
      ],
      EXPORTS,
    );
    expect(plan(Reports, 'list')).toMatchObject({
      shown: ['GET /list', 'GET /list #2'],
      counted: ['user:app GET /list #1', 'user:app GET /list #2'],
      limits: [9, 90],
    });
    expect(plan(Reports, 'own')).toMatchObject({
      shown: ['GET /own'],
      counted: ['user:route GET /own #1'],
      limits: [5],
    });
    expect(plan(Reports, 'mixed')).toMatchObject({
      shown: ['exports', 'GET /mixed #2', 'daily'],
      counted: ['user:route GET /mixed #1', 'user:route GET /mixed #2', 'network:route GET /mixed #3'],
      limits: [2, 3, 4],
      findings: [],
    });
  });

  it('counts what is shared by its name', () => {
    const { plan } = setup([
      { limit: 9, per: '1m', shared: true },
      { limit: 90, per: '1h', shared: true, name: 'hourly' },
    ]);
    for (const method of ['list', 'skipped']) {
      expect(plan(Reports, method)).toMatchObject({
        shown: ['throttle #1', 'hourly'],
        counted: ['user:app shared throttle #1', 'user:app shared hourly'],
      });
    }
  });

  it('finds names of quotas anywhere in the controller, and no others', () => {
    expect(setup().plan(Reports, 'skipped').findings).toEqual([]);
    class Other {
      @SkipThrottle({ daily: true })
      list(): void {}
    }
    expect(setup().plan(Other, 'list').findings).toEqual([
      "@SkipThrottle() on Other.list names 'daily', which is no policy and no quota's name",
    ]);
    expect(setup([], { daily: { limit: 1, per: '1m' } }).plan(Other, 'list').findings).toEqual([]);
    expect(setup([{ limit: 1, per: '1m', name: 'daily' }]).plan(Other, 'list')).toMatchObject({
      shown: [],
      findings: [],
    });
  });

  it('says once that the module has two limits of one name', () => {
    const { plan } = setup([
      { limit: 9, per: '1m', name: 'same' },
      { limit: 90, per: '1h', name: 'same' },
    ]);
    expect(plan(Reports, 'list').findings).toEqual([
      "throttle has two limits called 'same': give each a name of its own",
    ]);
  });

  it('keeps one live limit for all handlers of a policy, so that what goes wrong is said once', () => {
    const { events, plan } = setup([], { exports: { limit: () => Number.NaN, per: '1m' } });
    class Exports {
      @Throttle('exports')
      a(): void {}

      @Throttle('exports')
      b(): void {}
    }
    expect(plan(Exports, 'a').limits).toEqual([1]);
    expect(plan(Exports, 'b').limits).toEqual([1]);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: 'invalid-setting', setting: 'exports.limit' });
  });

  it('knows which limits are on trial, the module’s and a handler’s own', () => {
    const planner = new ThrottlePlanner(
      {
        throttles: [{ quota: { dryRun: true }, rate: rateOf({ limit: 9, per: '1m' }, 'x', () => {}) }],
        policies: new Map([['trial', { limit: 1, per: '1m', dryRun: true }]]),
      },
      () => {},
    );
    class Trials {
      list(): void {}

      @Throttle(['trial', { limit: 3, per: '1m' }])
      own(): void {}
    }
    const onTrial = (method: string) =>
      planner.limits(Trials, method, method, []).map(({ dryRun }) => dryRun);
    expect(onTrial('list')).toEqual([true]);
    expect(onTrial('own')).toEqual([true, false]);
  });
});

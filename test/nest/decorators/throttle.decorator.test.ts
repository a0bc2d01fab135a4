import { describe, expect, it } from 'vitest';
import { Throttle } from '../../../lib/index.js';
import { THROTTLE_KEY } from '../../../lib/nest/decorators/throttle.decorator.js';

/** What decorating a method with anything, typed or not, says. */
function decorate(quota: unknown): () => void {
  return () => {
    class Reports {
      list(): void {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Reports.prototype, 'list');
    Throttle(quota as never)(Reports.prototype, 'list', descriptor ?? {});
  };
}

const refused = (message: string) =>
  expect.objectContaining({
    code: 'TOLLGATE_BAD_CONFIGURATION',
    message: expect.stringContaining(message),
  });

describe('@Throttle()', () => {
  it.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, '10', null, undefined, true, {}])(
    'P02 throws at decoration when the limit is %s',
    (limit) => {
      expect(decorate({ limit, per: '1m' })).toThrow(refused('quota.limit'));
    },
  );

  it.each([
    60,
    '60',
    '1 m',
    '1.5m',
    '-1s',
    '0s',
    '0m',
    '1d',
    '',
    '1M',
    '01s',
    'm',
    null,
    undefined,
    '100000h',
  ])('P03 throws at decoration when per is %j', (per) => {
    expect(decorate({ limit: 10, per })).toThrow(refused('quota.per'));
    expect(decorate({ limit: () => 10, per })).toThrow(refused('quota.per'));
  });

  it.each(['1ms', '500ms', '30s', '1m', '1h', '87600h'])('P03 accepts per: %j', (per) => {
    expect(decorate({ limit: 10, per, algorithm: 'fixed' })).not.toThrow();
  });

  it.each([
    [{ limit: 1, per: '1m', algorithm: 'sliding' }, 'quota.algorithm'],
    [{ limit: 1, per: '1m', by: 'session' }, 'quota.by'],
    [{ limit: 1, per: '1m', by: null }, 'quota.by'],
    [{ limit: 1, per: '1m', name: '' }, 'quota.name'],
    [{ limit: 1, per: '1m', name: 'é' }, 'quota.name'],
    [{ limit: 1, per: '1m', name: 'x'.repeat(65) }, 'quota.name'],
    [{ limit: 1, per: '1m', shared: 'yes' }, 'quota.shared'],
    [{ limit: 1, per: '1m', period: '1m' }, 'quota.period'],
    [{ limit: 30_001, per: '1s' }, 'quota.limit'],
    [null, 'quota is null'],
    [undefined, 'quota is undefined'],
    [10, 'quota is 10'],
    [[], 'the list is empty'],
    [['burst', { limit: 0, per: '1m' }], 'quota[1].limit'],
    [[{ limit: 1, per: '1m' }, 7], 'quota[1] is 7'],
  ])('throws at decoration of %j', (quota, message) => {
    expect(decorate(quota)).toThrow(refused(message));
  });

  it('names the target and everything that is wrong, in one error', () => {
    expect(decorate([{ limit: 0, per: '0s' }, { per: '1m' }])).toThrow(
      /^@Throttle\(\) on Reports\.list:\n.*quota\[0\]\.per.*\n.*quota\[0\]\.limit.*\n.*quota\[1\]\.limit/,
    );
  });

  it('throws when a method or a class is throttled twice, as one of both would be lost', () => {
    const twice = () => {
      class Reports {
        @Throttle({ limit: 1, per: '1s' })
        @Throttle({ limit: 10, per: '1m' })
        list(): void {}
      }
      return Reports;
    };
    expect(twice).toThrow(refused('decorated twice'));
    const twiceClass = () => {
      @Throttle({ limit: 1, per: '1s' })
      @Throttle({ limit: 10, per: '1m' })
      class Reports {}
      return Reports;
    };
    expect(twiceClass).toThrow(refused('decorated twice'));
  });

  it('lets a class, its method and its subclass each have one', () => {
    @Throttle({ limit: 1, per: '1m' })
    class Base {
      @Throttle({ limit: 2, per: '1m' })
      list(): void {}
    }

    @Throttle({ limit: 3, per: '1m' })
    class Sub extends Base {}
    expect(Reflect.getOwnMetadata(THROTTLE_KEY, Sub)).toEqual([{ limit: 3, per: '1m' }]);
    expect(Reflect.getOwnMetadata(THROTTLE_KEY, Base)).toEqual([{ limit: 1, per: '1m' }]);
    expect(Reflect.getOwnMetadata(THROTTLE_KEY, Base.prototype.list)).toEqual([{ limit: 2, per: '1m' }]);
  });

  it('throws on what is no method and no class', () => {
    const onProperty = () => {
      Throttle({ limit: 1, per: '1m' })({}, 'list', { value: 7 });
    };
    expect(onProperty).toThrow(refused('only methods and classes'));
  });

  it('does not keep the list it is given', () => {
    const list: ('burst' | 'sustained')[] = ['burst'];
    class Reports {
      @Throttle(list)
      list(): void {}
    }
    list.push('sustained');
    expect(Reflect.getOwnMetadata(THROTTLE_KEY, Reports.prototype.list)).toEqual(['burst']);
  });
});

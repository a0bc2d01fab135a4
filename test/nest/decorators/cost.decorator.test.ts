import { describe, expect, it } from 'vitest';
import { Cost, TollgateError } from '../../../lib/index.js';
import { COST_KEY, isCost } from '../../../lib/nest/decorators/cost.decorator.js';
import { findMetadata } from '../../../lib/nest/decorators/metadata.js';

const byRows = (): number => 5;

@Cost(2)
class Reports {
  list(): void {}

  @Cost(byRows)
  export(): void {}
}

class Inherited extends Reports {
  override export(): void {}
}

describe('@Cost()', () => {
  it('is what the handler says, else its class, and goes on to classes that extend it', () => {
    for (const type of [Reports, Inherited]) {
      expect(findMetadata(COST_KEY, type, 'list')).toBe(2);
      expect(findMetadata(COST_KEY, type, 'export')).toBe(byRows);
    }
  });

  it.each([[0], [-1], [1.5], [NaN], ['5'], [null], [undefined], [[5]], [Promise.resolve(5)]])(
    'I04 throws at decoration when it is given %o, on methods and classes, naming both',
    (cost) => {
      const method = () => {
        class A {
          @Cost(cost as never)
          run(): void {}
        }
        return A;
      };
      const type = () => {
        @Cost(cost as never)
        class A {}
        return A;
      };
      expect(method).toThrow(TollgateError);
      expect(method).toThrow(/@Cost\(\) on A\.run:[^]*cost is /);
      expect(type).toThrow(/@Cost\(\) on A:[^]*cost is /);
    },
  );

  it('throws when a target is decorated twice', () => {
    const twice = () => {
      class A {
        @Cost(1)
        @Cost(2)
        run(): void {}
      }
      return A;
    };
    expect(twice).toThrow(/A\.run[^]*decorated twice/);
  });
});

describe('isCost', () => {
  it('knows what the decorator leaves', () => {
    expect([5, byRows].map(isCost)).toEqual([true, true]);
    expect([undefined, null, '5', {}].map(isCost)).toEqual([false, false, false, false]);
  });
});

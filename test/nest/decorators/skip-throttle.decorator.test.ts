import { describe, expect, it } from 'vitest';
import { SkipThrottle } from '../../../lib/index.js';
import { SKIP_THROTTLE_KEY } from '../../../lib/nest/decorators/skip-throttle.decorator.js';

describe('@SkipThrottle()', () => {
  it('says true without an argument, and else what it is given', () => {
    @SkipThrottle()
    class Health {
      @SkipThrottle(false)
      a(): void {}

      @SkipThrottle({ burst: true, sustained: false })
      b(): void {}
    }
    expect(Reflect.getOwnMetadata(SKIP_THROTTLE_KEY, Health)).toBe(true);
    expect(Reflect.getOwnMetadata(SKIP_THROTTLE_KEY, Health.prototype.a)).toBe(false);
    expect(Reflect.getOwnMetadata(SKIP_THROTTLE_KEY, Health.prototype.b)).toEqual({
      burst: true,
      sustained: false,
    });
  });

  it.each([null, 'burst', 1, ['burst'], { burst: 1 }, { burst: 'true' }, () => true])(
    'throws at decoration when it is given %j, which would skip nothing or too much',
    (skip) => {
      const decorate = () => {
        @SkipThrottle(skip as never)
        class Health {}
        return Health;
      };
      expect(decorate).toThrow(/@SkipThrottle\(\) on Health/);
    },
  );

  it('throws when a target is decorated twice', () => {
    const twice = () => {
      class Health {
        @SkipThrottle({ burst: true })
        @SkipThrottle({ sustained: true })
        check(): void {}
      }
      return Health;
    };
    expect(twice).toThrow(/Health\.check.*\n.*decorated twice/);
  });
});

import { describe, expect, it } from 'vitest';
import type { ThrottlePlan } from '../../../lib/nest/throttle/throttle-plan.js';
import { ThrottlePlans } from '../../../lib/nest/throttle/throttle-plans.js';

class Base {
  list(): void {}

  other(): void {}
}

class One extends Base {}

class Two extends Base {}

function plan(): ThrottlePlan {
  return { limits: [], position: 'auth', behind: null, units: null, attempt: null };
}

describe('ThrottlePlans', () => {
  it('knows an inherited handler by its concrete class', () => {
    const plans = new ThrottlePlans();
    const [one, two] = [plan(), plan()];
    plans.set(One, Base.prototype.list, one);
    plans.set(Two, Base.prototype.list, two);
    expect(plans.of(One, One.prototype.list)).toBe(one);
    expect(plans.of(Two, Two.prototype.list)).toBe(two);
  });

  it('says that nothing applies to what it was never told of', () => {
    const plans = new ThrottlePlans();
    plans.set(One, Base.prototype.list, plan());
    for (const [controller, handler] of [
      [Two, Base.prototype.list],
      [One, Base.prototype.other],
      [One, () => {}],
    ]) {
      expect(plans.of(controller, handler)).toEqual({
        limits: [],
        position: 'global',
        behind: null,
        units: null,
        attempt: null,
      });
    }
  });

  it('knows a function in the place of a handler by the metadata it took over', () => {
    const plans = new ThrottlePlans();
    const [list, other] = [plan(), plan()];
    plans.set(One, Base.prototype.list, list);
    plans.set(One, Base.prototype.other, other);
    const traced = (): void => {};
    for (const key of Reflect.getMetadataKeys(Base.prototype.list)) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, Base.prototype.list), traced);
    }
    expect(plans.of(One, traced)).toBe(list);
    expect(plans.of(Two, traced)).toEqual({
      limits: [],
      position: 'global',
      behind: null,
      units: null,
      attempt: null,
    });
  });
});

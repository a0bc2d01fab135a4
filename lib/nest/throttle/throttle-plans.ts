// The plans of all handlers, found by the class and the function that Nest is about to call.

import type { ThrottlePlan } from './throttle-plan.js';

const NOTHING: ThrottlePlan = { limits: [], position: 'global' };

export class ThrottlePlans {
  private readonly byClass = new Map<Function, Map<Function, ThrottlePlan>>();

  set(controller: Function, handler: Function, plan: ThrottlePlan): void {
    let plans = this.byClass.get(controller);
    if (plans === undefined) {
      plans = new Map();
      this.byClass.set(controller, plans);
    }
    plans.set(handler, plan);
  }

  /** The plan of a handler; nothing applies to what wasn't discovered at boot. */
  of(controller: Function, handler: Function): ThrottlePlan {
    return this.byClass.get(controller)?.get(handler) ?? NOTHING;
  }
}

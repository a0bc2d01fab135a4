// The plans of all handlers, found by the class and the function that Nest is about to call.

import 'reflect-metadata';
import type { ThrottlePlan } from './throttle-plan.js';

const NOTHING: ThrottlePlan = { limits: [], position: 'global', behind: null, units: null, attempt: null };

/** A handler's own metadata that names it: a tracing library puts a function with the same metadata in its place. */
const HANDLER_KEY = 'tollgate:handler';

export class ThrottlePlans {
  private readonly byClass = new Map<Function, Map<unknown, ThrottlePlan>>();

  set(controller: Function, handler: Function, plan: ThrottlePlan): void {
    Reflect.defineMetadata(HANDLER_KEY, handler, handler);
    let plans = this.byClass.get(controller);
    if (plans === undefined) {
      plans = new Map();
      this.byClass.set(controller, plans);
    }
    plans.set(handler, plan);
  }

  /** The plan of a handler; nothing applies to what wasn't discovered at boot. */
  of(controller: Function, handler: Function): ThrottlePlan {
    const plans = this.byClass.get(controller);
    if (plans === undefined) return NOTHING;
    return plans.get(handler) ?? this.ofReplaced(plans, handler);
  }

  /** A function put in a handler's place: it carries the metadata, or the name that `bind` made of the handler's. */
  private ofReplaced(plans: Map<unknown, ThrottlePlan>, handler: Function): ThrottlePlan {
    const marked = plans.get(Reflect.getMetadata(HANDLER_KEY, handler));
    if (marked !== undefined) return marked;
    const name = handler.name.replace(/^(?:bound )+/, '');
    for (const [known, plan] of plans) if (typeof known === 'function' && known.name === name) return plan;
    return NOTHING;
  }
}

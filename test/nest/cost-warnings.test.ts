import { describe, expect, it } from 'vitest';
import { Cost, PublicTool } from '../../lib/index.js';
import { costWarnings } from '../../lib/nest/cost-warnings.js';
import type { Route } from '../../lib/nest/http/route-identity.js';
import type { ThrottlePlan } from '../../lib/nest/throttle/throttle-plan.js';
import { unitsOf } from '../../lib/nest/throttle/units.js';
import { ApiRates } from '../../lib/policies/api-rates.js';

@Cost(30)
class Tools {
  @Cost(61)
  @PublicTool('session')
  search(): void {}

  list(): void {}

  other(): void {}

  @Cost(() => 1_000_000)
  dynamic(): void {}
}

class Free {
  @PublicTool('session')
  list(): void {}
}

/** A handler and its plan, as the boot makes them. */
function planned(
  controller: Function,
  method: string,
  byActor: boolean,
): { route: Route; plan: ThrottlePlan } {
  const handler: Function = controller.prototype[method];
  const units = unitsOf(controller, method, byActor, () => {});
  return {
    route: { controller, method, handler, identity: `GET /${method}` },
    plan: { limits: [], position: byActor ? 'api' : 'global', behind: null, units, attempt: null },
  };
}

function warnings(list: ReturnType<typeof planned>[], limits: Record<string, number> = {}): string[] {
  return costWarnings(
    list,
    new ApiRates(
      limits,
      () => ({}),
      () => {},
    ),
  );
}

const never = (method: string, cost: number, limit: number): string =>
  `@Cost() on Tools.${method} is ${cost}, but a limit is ${limit}: such calls never pass as it stands`;

describe('warnings of costs', () => {
  it('D14 name what is charged to nobody, a class once', () => {
    const list = ['list', 'other', 'dynamic'].map((method) => planned(Tools, method, false));
    expect(warnings(list)).toEqual(
      ['Tools', 'Tools.dynamic'].map(
        (where) =>
          `@Cost() on ${where} is charged to nobody: bind AuthInterceptor or ApiGuard, or make it a @PublicTool()`,
      ),
    );
  });

  it('I01 compare a flat cost with the lowest limit that it meets', () => {
    const limits = { adminRatePerMin: 29, publicIpRatePerMin: 60, publicTokenRatePerMin: 60 };
    expect(warnings([planned(Tools, 'list', true)], limits)).toEqual([never('list', 30, 29)]);
    expect(warnings([planned(Tools, 'list', true)], { adminRatePerMin: 30 })).toEqual([]);
    // A public tool of an API is called by either.
    expect(warnings([planned(Tools, 'search', true)], limits)).toEqual([never('search', 61, 29)]);
    expect(warnings([planned(Tools, 'search', false)], limits)).toEqual([never('search', 61, 60)]);
    expect(warnings([planned(Tools, 'search', false)], { ...limits, publicIpRatePerMin: 61 })).toEqual([
      never('search', 61, 60),
    ]);
    const both = { publicIpRatePerMin: 61, publicTokenRatePerMin: 61 };
    expect(warnings([planned(Tools, 'search', false)], both)).toEqual([]);
  });

  it('leave dynamic costs and handlers without a cost alone', () => {
    expect(warnings([planned(Tools, 'dynamic', true)], { adminRatePerMin: 1 })).toEqual([]);
    expect(warnings([planned(Free, 'list', true)], { adminRatePerMin: 1 })).toEqual([]);
  });
});

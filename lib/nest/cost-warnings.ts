// Costs that nobody is charged, and costs that nobody can pay: said once at boot.

import type { ApiRates } from '../policies/api-rates.js';
import { COST_KEY } from './decorators/cost.decorator.js';
import { findMetadata, hasOwnMetadata } from './decorators/metadata.js';
import type { Route } from './http/route-identity.js';
import type { ThrottlePlan } from './throttle/throttle-plan.js';

interface Planned {
  readonly route: Route;
  readonly plan: ThrottlePlan;
}

export function costWarnings(planned: readonly Planned[], rates: ApiRates): string[] {
  const read = rates.read();
  const uncounted = new Set<string>();
  const unpayable: string[] = [];
  for (const { route, plan } of planned) {
    const { controller, method, handler } = route;
    if (findMetadata(COST_KEY, controller, method) === undefined) continue;
    if (plan.units === null) {
      uncounted.add(hasOwnMetadata(COST_KEY, handler) ? `${controller.name}.${method}` : controller.name);
      continue;
    }
    const { cost, byActor, token } = plan.units;
    const limits = [
      ...(byActor ? [read('adminRatePerMin').limit] : []),
      ...(token === null ? [] : [read('publicIpRatePerMin').limit, read('publicTokenRatePerMin').limit]),
    ];
    const lowest = Math.min(...limits);
    if (cost.fixed === null || cost.fixed <= lowest) continue;
    unpayable.push(
      `@Cost() on ${controller.name}.${method} is ${cost.fixed}, but a limit is ${lowest}: such calls never pass as it stands`,
    );
  }
  return [
    ...[...uncounted].map(
      (where) =>
        `@Cost() on ${where} is charged to nobody: bind AuthInterceptor or ApiGuard, or make it a @PublicTool()`,
    ),
    ...unpayable,
  ];
}

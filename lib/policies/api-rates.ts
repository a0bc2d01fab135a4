// The numbers of the machine API's limits: read on every call, in one snapshot. Source A, SA-05 to SA-13.

import { parseDuration } from '../algorithms/duration.js';
import { rateProblem, type Rate } from '../algorithms/rate.js';
import type { Report } from '../events/event.js';
import { LiveLimit } from '../limiter/live-rate.js';

interface ApiLimit {
  readonly byDefault: number;
  readonly per: string;
}

/** Source A's settings under its names. */
export const API_LIMITS = {
  adminPreauthFailPerMin: { byDefault: 10, per: '1m' },
  adminRatePerMin: { byDefault: 600, per: '1m' },
  publicTokenRatePerMin: { byDefault: 60, per: '1m' },
  publicIpRatePerMin: { byDefault: 120, per: '1m' },
  publicNewRowsPerIpHour: { byDefault: 20, per: '1h' },
  publicNewRowsGlobalHour: { byDefault: 1_000, per: '1h' },
} as const satisfies Readonly<Record<string, ApiLimit>>;

export type ApiLimitName = keyof typeof API_LIMITS;

/** Numbers of the machine API's limits, each a whole number above 0; absent: from settings, else the default. */
export type ApiLimitNumbers = Partial<Readonly<Record<ApiLimitName, number>>>;

/** One snapshot of the rates. */
export type ReadApiRate = (name: ApiLimitName) => Rate;

export class ApiRates {
  private readonly limits: Readonly<Record<ApiLimitName, LiveLimit>>;

  /** `fixed` are those given in code; `settings` is read once per snapshot, for the others. */
  constructor(
    private readonly fixed: ApiLimitNumbers,
    private readonly settings: () => unknown,
    report: Report,
  ) {
    const make = (name: ApiLimitName): LiveLimit => {
      const { byDefault, per } = API_LIMITS[name];
      return new LiveLimit(`limits.${name}`, 'fixed', parseDuration(per) ?? 0, report, byDefault);
    };
    this.limits = {
      adminPreauthFailPerMin: make('adminPreauthFailPerMin'),
      adminRatePerMin: make('adminRatePerMin'),
      publicTokenRatePerMin: make('publicTokenRatePerMin'),
      publicIpRatePerMin: make('publicIpRatePerMin'),
      publicNewRowsPerIpHour: make('publicNewRowsPerIpHour'),
      publicNewRowsGlobalHour: make('publicNewRowsGlobalHour'),
    };
  }

  /** The rates that hold now, for one check. */
  read(): ReadApiRate {
    const live = fieldsOf(this.settings());
    return (name) => {
      const limit = this.fixed[name] ?? live[name];
      return limit === undefined ? this.limits[name].current : this.limits[name].of(() => limit);
    };
  }
}

/** Adds to `findings` what is wrong with numbers given in code or settings; `where` names one in a message. */
export function checkApiLimits(limits: unknown, where: (name: string) => string, findings: string[]): void {
  for (const [name, limit] of Object.entries(fieldsOf(limits))) {
    if (!Object.hasOwn(API_LIMITS, name)) {
      findings.push(`${where(name)} is unknown: there are ${Object.keys(API_LIMITS).join(', ')}`);
      continue;
    }
    const problem = limit === undefined ? null : rateProblem('fixed', limit, 1);
    if (problem !== null) findings.push(`${where(name)}: ${problem}`);
  }
}

function fieldsOf(limits: unknown): Readonly<Record<string, unknown>> {
  return typeof limits === 'object' && limits !== null ? { ...limits } : {};
}

// What an app limits, route by route: one table in the log at boot.

import { printable } from '../events/refusal-log.js';

/** A line of the table. */
export interface ReportRow {
  /** `METHOD path version`: also the name of the route's counters. */
  readonly route: string;
  /** Such as `10/1m by user`; empty: nothing but the per-IP limit. */
  readonly limits: string;
  /** Where in the chain of guards the limits run. */
  readonly place: string;
}

const HEAD: ReportRow = { route: 'route', limits: 'limits', place: 'counted' };

/** The table with aligned columns, as one log entry. */
export function reportTable(perIp: string, rows: readonly ReportRow[]): string {
  const all = [HEAD, ...rows.map(shown)];
  const route = Math.max(...all.map((row) => row.route.length));
  const limits = Math.max(...all.map((row) => row.limits.length));
  const lines = all.map((row) =>
    `  ${row.route.padEnd(route)}  ${row.limits.padEnd(limits)}  ${row.place}`.trimEnd(),
  );
  return [`per IP: ${perIp}`, ...lines].join('\n');
}

function shown({ route, limits, place }: ReportRow): ReportRow {
  return limits === ''
    ? { route: printable(route), limits: '-', place: '' }
    : { route: printable(route), limits, place };
}

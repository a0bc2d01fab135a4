// One line per refusal while there are few, one line per second and policy in a flood. Source B, SB-13, SB-30.

import type { RefusalEvent } from './event.js';

/** Lines per second and policy; what comes beyond is summed up. */
const LINES_PER_SECOND = 10;
const SECOND = 1_000_000;

const TEXTS: Readonly<Record<RefusalEvent['limit'], string>> = {
  ip: 'per-IP rate limit exceeded',
  route: 'route throttle exceeded',
  api: 'API rate limit exceeded',
  'pre-auth': 'too many failed authentications',
  login: 'login throttle exceeded',
  'second-factor': 'second-factor throttle exceeded',
  mail: 'mail throttle exceeded',
};

interface Tally {
  second: number;
  lines: number;
  silent: number;
  readonly text: string;
}

export class RefusalLog {
  /** By policy: as many as the app declares. */
  private readonly tallies = new Map<string, Tally>();

  constructor(private readonly warn: (line: string) => void) {}

  /** `now` in microseconds, of a clock that never steps. */
  record(event: RefusalEvent, now: number): void {
    const { policy } = event.decision;
    const second = Math.floor(now / SECOND);
    const text = event.dryRun ? `${TEXTS[event.limit]} (dry run, not refused)` : TEXTS[event.limit];
    const tally = this.tally(`${text} ${policy}`, text, second);
    if (tally.second !== second) {
      this.sumUp(policy, tally);
      tally.second = second;
      tally.lines = 0;
    }
    if (tally.lines >= LINES_PER_SECOND) {
      tally.silent++;
      return;
    }
    tally.lines++;
    this.warn(`${text}: policy=${printable(policy)} network=${printable(event.network)}`);
  }

  /** Says what is still to be summed up of seconds that are over: call it once a second. */
  flush(now: number): void {
    const second = Math.floor(now / SECOND);
    for (const [key, tally] of this.tallies) {
      if (tally.second === second) continue;
      this.sumUp(key.slice(tally.text.length + 1), tally);
      this.tallies.delete(key);
    }
  }

  private tally(key: string, text: string, second: number): Tally {
    let tally = this.tallies.get(key);
    if (tally === undefined) {
      tally = { second, lines: 0, silent: 0, text };
      this.tallies.set(key, tally);
    }
    return tally;
  }

  private sumUp(policy: string, tally: Tally): void {
    if (tally.silent === 0) return;
    this.warn(`${tally.text}: policy=${printable(policy)} and ${tally.silent} more in that second`);
    tally.silent = 0;
  }
}

/** Nothing that could end a line or move a terminal's cursor. */
export function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

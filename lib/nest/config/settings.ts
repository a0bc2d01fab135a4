// The port through which limits are read on every call, so that an edit takes effect at once.

import { show } from '../../algorithms/rate.js';
import { nameOf } from '../../errors.js';
import type { Report } from '../../events/event.js';
import { ignoreLate } from '../../limiter/late-answer.js';

/** The settings that are live, raw as their source has them; undefined keeps what holds. */
export interface LiveSettings {
  /** `'600/1m'` or `{ limit, per }`; null turns the per-IP limit off. */
  readonly perIp?: unknown;
  /** `'100/1m'` or `{ limit, per }`: the throttle of every route without its own; null for none. */
  readonly throttle?: unknown;
  /** The machine API's limits by name, whole numbers. */
  readonly limits?: unknown;
  /** The sign-in limits by name, `'5/1m'` or `{ limit, per }`; null turns one off. */
  readonly login?: unknown;
}

/**
 * Where live settings come from. `read` is called once per step and must be synchronous and cheap: a source that
 * needs I/O pushes what it learns into an object that this returns.
 */
export abstract class RateLimitSettings {
  abstract read(): LiveSettings;
}

/** A source that may fail: what it said last holds, and each new failure is reported. */
export class SafeSettings extends RateLimitSettings {
  private last: LiveSettings = {};
  private failure: string | null = null;

  constructor(
    private readonly source: RateLimitSettings,
    private readonly report: Report,
  ) {
    super();
  }

  override read(): LiveSettings {
    try {
      const said: unknown = this.source.read();
      ignoreLate(said);
      if (typeof said === 'object' && said !== null && !(said instanceof Promise)) {
        // Read here, where a getter that throws is a failure of the source; of classes getters are no own properties.
        const { perIp, throttle, limits, login }: LiveSettings = said;
        this.last = { perIp, throttle, limits, login };
        this.failure = null;
      } else {
        this.fail(`read() returned ${said instanceof Promise ? 'a promise' : show(said)}`);
      }
    } catch (error) {
      this.fail(`read() threw ${nameOf(error)}`);
    }
    return this.last;
  }

  private fail(problem: string): void {
    if (problem !== this.failure) this.report({ type: 'invalid-setting', setting: 'settings', problem });
    this.failure = problem;
  }
}

/** The settings of `@nestjs/config`: the very object that `ConfigService.set()` changes. */
export class ConfigSettings extends RateLimitSettings {
  constructor(private readonly config: LiveSettings) {
    super();
  }

  override read(): LiveSettings {
    return this.config;
  }
}

// The port through which limits are read on every call, so that an edit takes effect at once.

/** The settings that are live, raw as their source has them; undefined keeps what holds. */
export interface LiveSettings {
  /** `'600/1m'` or `{ limit, per }`; null turns the per-IP limit off. */
  readonly perIp?: unknown;
  /** `'100/1m'` or `{ limit, per }`: the throttle of every route without its own; null for none. */
  readonly throttle?: unknown;
}

/**
 * Where live settings come from. `read` is called once per step and must be synchronous and cheap: a source that
 * needs I/O pushes what it learns into an object that this returns.
 */
export abstract class RateLimitSettings {
  abstract read(): LiveSettings;
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

import { describe, expect, it } from 'vitest';
import { CurrentActor, type Actor } from '../../../lib/index.js';
import { stateOf, type FrameworkRequest } from '../../../lib/nest/http/request-state.js';
import { contextOf } from '../auth/support.js';
import { exchanges, makeLimits, rawRequestFrom } from '../http/support.js';

class Routes {
  list(@CurrentActor() actor: Actor | null): Actor | null {
    return actor;
  }
}

/** What Nest gives the parameter: the function that it finds in the metadata. */
function given(request: FrameworkRequest): unknown {
  const parameters: Record<string, { factory: (data: unknown, context: unknown) => unknown }> =
    Reflect.getMetadata('__routeArguments__', Routes, 'list');
  return Object.values(parameters)[0].factory(undefined, contextOf(request));
}

describe('@CurrentActor()', () => {
  it.each(exchanges(() => rawRequestFrom('203.0.113.5')))(
    'is the very object of the Authenticator on %s, else null',
    (_adapter, request) => {
      expect(given(request)).toBeNull();
      const { limits } = makeLimits();
      limits.capture(request.raw ?? request);
      expect(given(request)).toBeNull();
      const state = stateOf(request.raw ?? request);
      const actor = { key: 'a', plan: 'gold' };
      if (state !== undefined) state.actor = actor;
      expect(given(request)).toBe(actor);
    },
  );
});

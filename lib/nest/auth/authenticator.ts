// The port by which a machine API finds out who is calling: the app's own lookup of keys, tokens or sessions.

import type { ExecutionContext } from '@nestjs/common';
import type { MaybePromise } from '../../stores/store.js';
import type { FrameworkRequest } from '../http/request-state.js';

/** Who calls a machine API: by a key, or a user acting through a session. Both may carry whatever the app needs. */
export type Actor =
  /** The key's id: cost is counted per key. Only its digest reaches a store. */
  | { readonly key: string }
  /** The user's id: cost is counted per user over all sessions, apart from the user's keys. Source A, SA-32. */
  | { readonly user: string };

/** What became of a request's credential. */
export type Authentication =
  | Actor
  /** The route is open, whoever calls: public tools, a handler that signs in by itself. */
  | 'guest'
  /** No credential was sent: answered 401, and no guess. */
  | 'missing'
  /** The credential is wrong: counted as a guess, answered 401 while the network may still guess, then 429. */
  | 'invalid'
  /** A right key from an address it may not be used from: counted as a guess, answered 403, then 429. Source A, SA-20. */
  | 'forbidden';

/** Names under which clients put credentials into URLs, where proxies and logs keep them. */
const IN_URL = ['access_token', 'api_key', 'api_token', 'apikey', 'auth_token', 'token'];

/**
 * Provide a subclass as `Authenticator` in the module whose controllers are bound to `AuthInterceptor` or `ApiGuard`,
 * or in a global one. Any of its methods may be asynchronous; a request-scoped one works too.
 */
export abstract class Authenticator {
  /**
   * Query parameters that must not carry a credential, in lower case: a request with one of them is answered 400
   * before anything is looked up. Default: `access_token`, `api_key`, `api_token`, `apikey`, `auth_token`, `token`.
   */
  readonly credentialParameters: readonly string[] = IN_URL;

  /** The API switch, asked on every request: while off everything is answered 404. Default on. Source A, SA-20. */
  isEnabled(_request: FrameworkRequest): MaybePromise<boolean> {
    return true;
  }

  /**
   * Verifies the credential of a request, whatever its network has done before: a valid key always passes. A 401 or
   * 403 that it throws is a rejection too, counted as `'invalid'`; anything else it throws is answered as it is and
   * counts nothing.
   *
   * `address` is the client's, null when unknown; `context` tells the handler, such as one that is open to guests.
   * Don't keep failed lookups: source A, SA-22, accepts their cost.
   */
  abstract authenticate(
    request: FrameworkRequest,
    address: string | null,
    context: ExecutionContext,
  ): MaybePromise<Authentication>;
}

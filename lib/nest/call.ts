// Who is calling: what the functions of an app get to see, whatever the transport.

import type { ExecutionContext } from '@nestjs/common';
import type { Decision, HeaderLines } from '../algorithms/decision.js';
import type { Verdict } from '../algorithms/verdict.js';
import type { StoreTime } from '../limiter/store-time.js';

/** How a call came; `'service'`: by the app's own code, outside of any request. */
export type Transport = 'http' | 'ws' | 'graphql' | 'rpc' | 'service';

/** A call as `limit`, `by` and `skipIf` see it. */
export interface Call {
  readonly transport: Transport;
  /** The client's address in canonical form; null when there is none (a Unix socket, a queue). */
  readonly address: string | null;
  /** The network it belongs to: what addresses are counted by. */
  readonly network: string;
  /** Id of the authenticated user; null for guests and before authentication. */
  readonly user: string | null;
  /** Id of the API key that an `Authenticator` found; null for everybody else. */
  readonly key: string | null;
  /** The handler's context; null before routing and in hand-written middleware. */
  readonly context: ExecutionContext | null;
  /** The request as the transport gives it: the framework's request, the socket's client, the message's context. */
  readonly request: unknown;
}

/**
 * A call that can be answered: made by each transport, used by everything else.
 *
 * Of a WebSocket message: the address is that of the handshake, `request` the client, `tell` only makes the lines (a
 * message has no headers), `refusal` is a WsException with status, message and retryAfter.
 */
export interface Caller extends Call {
  /** What the call has waited for stores. */
  readonly time: StoreTime;
  /**
   * Tells the client about the buckets of a step, where the transport has a place for it, and about the one that
   * refuses the call, if one does. Returns the lines about all that the call has met.
   */
  tell(verdicts: readonly Verdict[], refused: Verdict | null): HeaderLines;
  /** The exception by which this transport refuses. */
  refusal(refusal: Refusal): Error;
}

/** Why a call is refused, and the words for it. */
export interface Refusal {
  readonly decision: Decision;
  readonly message: string;
}

// What the limiter has to tell an operator, as typed events.

import type { Decision } from '../algorithms/decision.js';

/** Newcomers to a full table began to share one bucket. */
export interface OverflowEvent {
  readonly type: 'overflow';
  readonly namespace: string;
  readonly maxKeys: number;
}

/** A peer that isn't trusted sent forwarding headers: they were ignored. */
export interface ForwardingIgnoredEvent {
  readonly type: 'forwarding-ignored';
  readonly peer: string | null;
}

/** A request without a usable address: all such requests share one bucket. */
export interface UnknownAddressEvent {
  readonly type: 'unknown-address';
}

/** A live setting became invalid: the last good value stays in force. */
export interface InvalidSettingEvent {
  readonly type: 'invalid-setting';
  readonly setting: string;
  readonly problem: string;
}

/** A shared store failed several times in a row: each limit goes on as its `onStoreError` says. */
export interface StoreDownEvent {
  readonly type: 'store-down';
  /** The code or class of the last failure. */
  readonly problem: string;
}

/** A shared store answers again. */
export interface StoreUpEvent {
  readonly type: 'store-up';
  /** How long it was down. */
  readonly seconds: number;
}

/** A `@Cost()` gave no usable number for a call: another was charged. */
export interface InvalidCostEvent {
  readonly type: 'invalid-cost';
  /** The decorator and its handler. */
  readonly where: string;
  readonly problem: string;
  /** What was charged instead. */
  readonly cost: number;
}

/** A function of the app gave no usable partition key or identity: the client network is used. */
export interface UnusableKeyEvent {
  readonly type: 'unusable-key';
  readonly policy: string;
  readonly problem: string;
}

/** What kind of limit decided. */
export type LimitKind =
  /** The per-IP limit. */
  | 'ip'
  /** The throttles of a handler, or of hand-written middleware. */
  | 'route'
  /** Cost units of a key, a user, a client token or a network. */
  | 'api'
  /** Failed authentications of a network. */
  | 'pre-auth'
  /** Failed sign-ins. */
  | 'login'
  /** Wrong codes of a second factor. */
  | 'second-factor'
  /** Mails to one address. */
  | 'mail';

/** What every decision about a call tells. */
interface Decided {
  readonly limit: LimitKind;
  readonly decision: Decision;
  /** The client's address; null when unknown. */
  readonly address: string | null;
  /** What the address is counted by. */
  readonly network: string;
  readonly user: string | null;
  /** The limit is on trial: a refusal is told here and refuses nothing. */
  readonly dryRun: boolean;
}

/** A step decided about a call, either way. Emitted only while somebody listens. */
export interface DecisionEvent extends Decided {
  readonly type: 'decision';
}

/** A call was refused, or would have been. */
export interface RefusalEvent extends Decided {
  readonly type: 'refusal';
}

export type RateLimitEvent =
  | DecisionEvent
  | RefusalEvent
  | OverflowEvent
  | ForwardingIgnoredEvent
  | UnknownAddressEvent
  | StoreDownEvent
  | StoreUpEvent
  | InvalidSettingEvent
  | InvalidCostEvent
  | UnusableKeyEvent;

/** Takes an event and returns at once. Never throws. */
export type Report = (event: RateLimitEvent) => void;

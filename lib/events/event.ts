// What the limiter has to tell an operator, as typed events.

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

/** A function of the app gave no usable partition key or identity: the client network is used. */
export interface UnusableKeyEvent {
  readonly type: 'unusable-key';
  readonly policy: string;
  readonly problem: string;
}

export type RateLimitEvent =
  OverflowEvent | ForwardingIgnoredEvent | UnknownAddressEvent | InvalidSettingEvent | UnusableKeyEvent;

/** Takes an event and returns at once. Never throws. */
export type Report = (event: RateLimitEvent) => void;

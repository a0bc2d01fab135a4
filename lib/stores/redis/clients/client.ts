// What the store needs of a Redis client, whichever package it comes from: connections of its own, from connect to end.

import type { MaybePromise } from '../../store.js';

/**
 * A client that lives once: it connects, serves, and ends with its connection. It never queues what it can't send,
 * never sends anything twice, and is not asked to reconnect: a new one takes its place. That of a cluster looks after
 * its nodes itself and ends when none is left.
 */
export interface Client {
  /** Whether what is sent now goes out now. */
  readonly ready: boolean;
  /** Connects; rejects when it can't. `onEnd` is called when the client is of no more use, possibly more than once. */
  connect(onEnd: () => void): Promise<void>;
  /** Sends a command to the server that holds `key`; a promise of its answer. */
  send(key: string, command: readonly string[]): unknown;
  /** The server that holds a slot, by a name that is another when the server may be. */
  serverOf(slot: number): string;
  /** Drops the connection to the server of a slot alone, for a new one to be made; false when that can't be done. */
  recycle(slot: number): boolean;
  /** Ends the client without waiting for answers; settles when its connections are closed. */
  destroy(): Promise<void>;
}

/** Where clients come from. */
export interface ClientSource {
  /** Whether keys of different slots lie on different servers. */
  readonly clustered: boolean;
  /** Rejects when clients can't be made here, because of a package that is not installed. */
  load(): MaybePromise<void>;
  /** A client with connections of its own, not yet connected. */
  make(): Client | Promise<Client>;
}

/** How long a client may take to say hello to a server, in milliseconds. */
export const CONNECT_TIMEOUT = 3_000;

type Method = (...args: readonly unknown[]) => unknown;

/** An object with these methods, of which nothing else is known. */
export type Methods<Names extends string> = Readonly<Record<Names, Method>>;

export function hasMethods<Names extends string>(
  value: unknown,
  ...names: readonly Names[]
): value is Methods<Names> {
  return names.every((name) => typeof property(value, name) === 'function');
}

/** A property of whatever it is; undefined when it has none. */
export function property(value: unknown, name: string): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined;
  return Reflect.get(value, name);
}

/** An object's own settings, to be copied with others; none when it is no object. */
export function settings(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

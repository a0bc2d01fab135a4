// node-redis, one server or Sentinel: made for one life, by the options of a borrowed client.

import { CONNECT_TIMEOUT, hasMethods, property, settings, type Client, type Methods } from './client.js';

type NodeRedis = Methods<'connect' | 'destroy' | 'duplicate' | 'on' | 'sendCommand'>;

export function isNodeRedis(value: unknown): value is NodeRedis {
  const methods = hasMethods(value, 'connect', 'destroy', 'duplicate', 'on', 'sendCommand');
  // An old cluster is none of ours.
  return methods && !Array.isArray(property(value, 'slots'));
}

function isSentinel(client: unknown): boolean {
  return hasMethods(client, 'getSentinelNode');
}

/** The options of connections of our own, which queue nothing and come back in the way that is given. */
export function connectionOptions(options: unknown, reconnectStrategy: false | (() => number)): object {
  return {
    ...settings(options),
    disableOfflineQueue: true,
    commandsQueueMaxLength: undefined,
    socket: {
      ...settings(property(options, 'socket')),
      connectTimeout: CONNECT_TIMEOUT,
      reconnectStrategy,
    },
  };
}

/** The options of a connection that ends instead of coming back. */
export function oneLife(options: unknown): object {
  return connectionOptions(options, false);
}

/** A client of its own with the options of a borrowed one. */
export function duplicateNodeRedis(borrowed: NodeRedis): Client {
  // Sentinel's client repeats a command up to 16 times when the connection is lost: 0 is never.
  if (isSentinel(borrowed)) return nodeRedisClient(borrowed.duplicate({ maxCommandRediscovers: 0 }));
  return nodeRedisClient(borrowed.duplicate(oneLife(property(borrowed, 'options'))));
}

/** @throws TypeError when `made` is no client of node-redis. */
export function nodeRedisClient(made: unknown): Client {
  if (!isNodeRedis(made)) throw new TypeError('duplicate() of the Redis client returned no client');
  return new NodeRedisClient(made);
}

class NodeRedisClient implements Client {
  private readonly sentinel: boolean;
  /** How often Sentinel named another server. */
  private servers = 0;

  constructor(private readonly redis: NodeRedis) {
    this.sentinel = isSentinel(redis);
  }

  get ready(): boolean {
    return property(this.redis, 'isReady') === true;
  }

  async connect(onEnd: () => void): Promise<void> {
    // An error event without a listener would end the process. Without a way back it is the end of this client.
    this.redis.on('error', () => {
      if (property(this.redis, 'isOpen') !== true) onEnd();
    });
    this.redis.on('end', onEnd);
    this.redis.on('topology-change', () => this.servers++);
    await this.redis.connect();
  }

  async send(_key: string, command: readonly string[]): Promise<unknown> {
    return this.sentinel ? this.redis.sendCommand(false, command) : this.redis.sendCommand(command);
  }

  serverOf(): string {
    return `${this.servers}`;
  }

  recycle(): boolean {
    return false;
  }

  async destroy(): Promise<void> {
    await end(this.redis);
  }
}

/** Ends a client of node-redis, also one that is closed already. */
export async function end(client: Methods<'destroy'>): Promise<void> {
  try {
    await client.destroy();
  } catch {
    // It was closed.
  }
}

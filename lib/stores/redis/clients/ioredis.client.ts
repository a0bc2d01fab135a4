// ioredis and iovalkey, one server, Sentinel or cluster: made for one life, by the options of a borrowed client.

import {
  CONNECT_TIMEOUT,
  hasMethods,
  property,
  settings,
  type Client,
  type ClientSource,
  type Methods,
} from './client.js';
import { WriteBatch } from './write-batch.js';

type Ioredis = Methods<'call' | 'connect' | 'disconnect' | 'duplicate' | 'on'>;

export function isIoredis(value: unknown): value is Ioredis {
  return hasMethods(value, 'call', 'connect', 'disconnect', 'duplicate', 'on');
}

/**
 * No retries, no queue, no replay, numbers and keys as they are: clients differ in which keys they put their own prefix
 * before. The client's own ways of coming back stay unused.
 */
export const ONE_LIFE = {
  keyPrefix: '',
  lazyConnect: true,
  connectTimeout: CONNECT_TIMEOUT,
  disconnectTimeout: 500,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  reconnectOnError: null,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
  commandTimeout: undefined,
  stringNumbers: false,
};

/** What a cluster passes on to its nodes. */
const ONE_LIFE_OF_A_NODE = {
  keyPrefix: '',
  connectTimeout: CONNECT_TIMEOUT,
  disconnectTimeout: 500,
  reconnectOnError: null,
  autoResendUnfulfilledCommands: false,
  commandTimeout: undefined,
  stringNumbers: false,
};

const ONE_LIFE_OF_A_CLUSTER = {
  keyPrefix: '',
  lazyConnect: true,
  clusterRetryStrategy: () => null,
  // A node connects when it is first needed. What waits for that was never sent, and does nothing after its deadline.
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  scaleReads: 'master',
  // After a lost connection a command may have been done: 0 is never to send it again.
  retryDelayOnFailover: 0,
};

/** Clients of our own with the options of a borrowed one. */
export function ioredisSource(borrowed: Ioredis): ClientSource {
  const clustered = property(borrowed, 'isCluster') === true;
  return {
    clustered,
    load() {},
    make: () => (clustered ? duplicateCluster(borrowed) : ioredisClient(borrowed.duplicate(ONE_LIFE))),
  };
}

function duplicateCluster(borrowed: Ioredis): Client {
  const redisOptions = settings(property(property(borrowed, 'options'), 'redisOptions'));
  const options = { ...ONE_LIFE_OF_A_CLUSTER, redisOptions: { ...redisOptions, ...ONE_LIFE_OF_A_NODE } };
  return ioredisClient(borrowed.duplicate([], options));
}

/** @throws TypeError when `made` is no client of ioredis. */
export function ioredisClient(made: unknown): Client {
  if (!isIoredis(made)) throw new TypeError('duplicate() of the Redis client returned no client');
  return new IoredisClient(made);
}

class IoredisClient implements Client {
  private readonly clustered: boolean;
  private readonly batch = new WriteBatch();
  private readonly ended: Promise<void>;
  private lastError: unknown = undefined;

  constructor(private readonly redis: Ioredis) {
    this.clustered = property(redis, 'isCluster') === true;
    // An error event without a listener would end the process.
    redis.on('error', (error: unknown) => (this.lastError = error));
    this.ended = new Promise((resolve) => redis.on('end', () => resolve()));
  }

  get ready(): boolean {
    return property(this.redis, 'status') === 'ready';
  }

  async connect(onEnd: () => void): Promise<void> {
    this.redis.on('end', onEnd);
    try {
      await this.redis.connect();
    } catch (error) {
      // It says that the connection is closed; the event said why.
      throw this.lastError ?? error;
    }
  }

  send(_key: string, command: readonly string[]): unknown {
    if (!this.clustered) this.batch.add(property(this.redis, 'stream'));
    return this.redis.call(...command);
  }

  serverOf(slot: number): string {
    return this.clustered ? String(property(property(property(this.redis, 'slots'), `${slot}`), '0')) : '';
  }

  recycle(slot: number): boolean {
    if (!this.clustered || !hasMethods(this.redis, 'nodes')) return false;
    const nodes = this.redis.nodes();
    if (!Array.isArray(nodes)) return false;
    const name = this.serverOf(slot);
    for (const node of nodes) {
      const options = property(node, 'options');
      const found = `${String(property(options, 'host'))}:${String(property(options, 'port'))}` === name;
      if (found && hasMethods(node, 'disconnect')) {
        node.disconnect();
        return true;
      }
    }
    return false;
  }

  async destroy(): Promise<void> {
    // Told again, a client that has ended keeps the process alive for half a second.
    if (property(this.redis, 'status') !== 'end') this.redis.disconnect();
    await this.ended;
  }
}

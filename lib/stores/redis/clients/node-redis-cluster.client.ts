// node-redis, cluster: its nodes come back by themselves, and nothing is sent twice.

import { hasMethods, property, type Client, type Methods } from './client.js';
import { connectionOptions, end } from './node-redis.client.js';

type NodeRedisCluster = Methods<'connect' | 'destroy' | 'duplicate' | 'on' | 'sendCommand'>;

/** Before 6.2 a cluster doesn't say whether it is ready, and may never follow a failover. */
export function isNodeRedisCluster(value: unknown): value is NodeRedisCluster {
  const methods = hasMethods(value, 'connect', 'destroy', 'duplicate', 'on', 'sendCommand');
  return (
    methods && Array.isArray(property(value, 'slots')) && typeof property(value, 'isReady') === 'boolean'
  );
}

/** Milliseconds between two attempts to reach a node, and until the cluster is asked who took its place. */
const NODE_RETRY = 500;

/** A cluster client of its own with the options of a borrowed one. */
export function duplicateNodeRedisCluster(borrowed: NodeRedisCluster): Client {
  const made = borrowed.duplicate({
    defaults: connectionOptions(property(property(borrowed, '_options'), 'defaults'), () => NODE_RETRY),
    topologyRefreshOnReconnectionAttemptStrategy: NODE_RETRY,
    // Each node when it is first needed: else one that is gone keeps all others from being used.
    minimizeConnections: true,
    useReplicas: false,
  });
  if (!isNodeRedisCluster(made)) throw new TypeError('duplicate() of the Redis client returned no client');
  return new NodeRedisClusterClient(made);
}

class NodeRedisClusterClient implements Client {
  constructor(private readonly redis: NodeRedisCluster) {
    redis.on('error', () => {});
  }

  get ready(): boolean {
    return property(this.redis, 'isReady') === true;
  }

  async connect(): Promise<void> {
    await this.redis.connect();
  }

  async send(key: string, command: readonly string[]): Promise<unknown> {
    return this.redis.sendCommand(key, false, command);
  }

  serverOf(slot: number): string {
    return String(property(this.master(slot), 'address'));
  }

  recycle(slot: number): boolean {
    const master = this.master(slot);
    const client = property(master, 'client');
    if (typeof master !== 'object' || master === null || !hasMethods(client, 'destroy')) return false;
    // What the cluster itself does with a node that it gives up: the next command makes a new client.
    Reflect.set(master, 'client', undefined);
    void end(client);
    return true;
  }

  async destroy(): Promise<void> {
    await end(this.redis);
  }

  private master(slot: number): unknown {
    return property(property(property(this.redis, 'slots'), `${slot}`), 'master');
  }
}

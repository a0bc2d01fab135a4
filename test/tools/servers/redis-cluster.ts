// A Redis Cluster on this machine: masters that share the slots, and replicas where a test wants a failover.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { RedisServer } from './redis-server.js';

const SLOTS = 16_384;

export class RedisCluster {
  private constructor(
    readonly masters: readonly RedisServer[],
    readonly replicas: readonly RedisServer[],
  ) {}

  /** Three masters, with so many replicas of the first. */
  static async start(replicas = 0): Promise<RedisCluster> {
    const args = [
      '--cluster-enabled',
      'yes',
      '--cluster-node-timeout',
      '1000',
      '--repl-diskless-sync-delay',
      '0',
    ];
    const servers = await Promise.all(
      Array.from({ length: 3 + replicas }, () => RedisServer.start('redis-server', args)),
    );
    const cluster = new RedisCluster(servers.slice(0, 3), servers.slice(3));
    await withClients(servers, (clients) => join(clients));
    return cluster;
  }

  get nodes(): { host: string; port: number }[] {
    return [...this.masters, ...this.replicas].map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** Settles when the replica of the first master has taken its place. */
  async promoted(): Promise<void> {
    await promoted(this.replicas[0]);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.masters, ...this.replicas].map((server) => server.stop()));
  }
}

async function join(clients: readonly Redis[]): Promise<void> {
  const [first, ...others] = clients;
  for (const [index, client] of clients.entries()) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', `${index + 1}`);
    const slots = Array.from({ length: SLOTS }, (_, slot) => slot).filter(
      (slot) => Math.floor((slot * 3) / SLOTS) === index,
    );
    if (slots.length > 0) await client.call('CLUSTER', 'ADDSLOTS', ...slots);
  }
  for (const { options } of others) await first.call('CLUSTER', 'MEET', '127.0.0.1', `${options.port}`);
  const knowsAll = async (client: Redis): Promise<boolean> =>
    String(await client.call('CLUSTER', 'INFO')).includes(`cluster_known_nodes:${clients.length}\r`);
  await until(async () => (await Promise.all(clients.map(knowsAll))).every(Boolean));
  const id = String(await first.call('CLUSTER', 'MYID'));
  for (const replica of clients.slice(3)) await replica.call('CLUSTER', 'REPLICATE', id);
  const isReady = async (client: Redis): Promise<boolean> => {
    const state = String(await client.call('CLUSTER', 'INFO'));
    const role = await client.info('replication');
    return (
      state.includes('cluster_state:ok') && (role.includes('role:master') || role.includes('link_status:up'))
    );
  };
  await until(async () => (await Promise.all(clients.map(isReady))).every(Boolean));
}

async function withClients(
  servers: readonly RedisServer[],
  work: (clients: readonly Redis[]) => Promise<void>,
): Promise<void> {
  const clients = servers.map(({ port }) => new Redis(port, '127.0.0.1'));
  // A server that changes its role ends its connections. The clients come back by themselves.
  for (const client of clients) client.on('error', () => {});
  try {
    await work(clients);
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** Settles as soon as a server that was a replica says that it is a master. */
export async function promoted(server: RedisServer): Promise<void> {
  await withClients([server], async ([client]) => {
    // Sentinels that were held up for two seconds do nothing for the next thirty.
    await until(async () => (await client.info('replication')).includes('role:master'), 5, 45_000);
  });
}

/** Waits until something is so, up to 15 seconds; asks every so many milliseconds. */
export async function until(condition: () => Promise<boolean>, every = 25, within = 15_000): Promise<void> {
  const end = performance.now() + within;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${within} ms in vain`);
    await sleep(every);
  }
}

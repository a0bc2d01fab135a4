// A master, its replica and three sentinels that watch over them, quick to decide.
import { Redis } from 'ioredis';
import { promoted, until } from './redis-cluster.js';
import { RedisServer } from './redis-server.js';

const NAME = 'tollgate';

export class RedisSentinel {
  readonly name = NAME;

  private constructor(
    readonly master: RedisServer,
    readonly replica: RedisServer,
    private readonly sentinels: readonly RedisServer[],
  ) {}

  static async start(): Promise<RedisSentinel> {
    const quick = ['--repl-diskless-sync-delay', '0'];
    const master = await RedisServer.start('redis-server', quick);
    const replica = await RedisServer.start('redis-server', [
      ...quick,
      '--replicaof',
      '127.0.0.1',
      `${master.port}`,
    ]);
    const config = [
      `sentinel monitor ${NAME} 127.0.0.1 ${master.port} 2`,
      `sentinel down-after-milliseconds ${NAME} 500`,
      `sentinel failover-timeout ${NAME} 3000`,
    ];
    const sentinels = await Promise.all([0, 1, 2].map(() => RedisServer.startSentinel(config)));
    const cluster = new RedisSentinel(master, replica, sentinels);
    await cluster.settled();
    return cluster;
  }

  get nodes(): { host: string; port: number }[] {
    return this.sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** Settles when the replica has been made the master. */
  async promoted(): Promise<void> {
    await promoted(this.replica);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinels, this.replica, this.master].map((server) => server.stop()));
  }

  /** A replica that is killed before its first sync, or unknown to a sentinel, never takes over. */
  private async settled(): Promise<void> {
    const clients = [this.replica, ...this.sentinels].map(({ port }) => new Redis(port, '127.0.0.1'));
    const [replica, ...sentinels] = clients;
    const knowsAll = async (sentinel: Redis): Promise<boolean> =>
      /slaves=1,sentinels=3/.test(await sentinel.info('sentinel'));
    try {
      await until(async () => (await replica.info('replication')).includes('master_link_status:up'));
      await until(async () => (await Promise.all(sentinels.map(knowsAll))).every(Boolean));
    } finally {
      for (const client of clients) client.disconnect();
    }
  }
}

// One of several processes that make requests of one limit at once: `node requests.mjs <urls> <shift in ms>`. Prints how
// many were admitted. Its clock runs ahead or behind by the shift.
const [, , urls, shift] = process.argv;
const wall = Date.now.bind(Date);
Date.now = () => wall() + Number(shift);

const { Cluster, Redis } = await import('ioredis');
const { RedisStore } = await import('nestjs-tollgate/redis');

const nodes = urls.split(',').map((url) => ({ host: '127.0.0.1', port: Number(new URL(url).port) }));
const client = nodes.length === 1 ? new Redis(nodes[0]) : new Cluster(nodes);
const store = new RedisStore(client);
const DAY = 24 * 3_600e6;
const rate = { algorithm: 'fixed', limit: 1_000, window: DAY, unit: 1, capacity: 1_000 };
const bucket = { policy: 'exports', namespace: 'service:exports', key: 'all', rate, cost: 1 };

let left = 2_000;
let admitted = 0;
let failed = 0;
async function caller() {
  while (left-- > 0) {
    try {
      const [{ allowed }] = await store.consume([bucket], 5_000);
      if (allowed) admitted++;
    } catch {
      failed++;
    }
  }
}
await Promise.all(Array.from({ length: 50 }, caller));
console.log(JSON.stringify({ admitted, failed }));
await store.close();
client.disconnect();

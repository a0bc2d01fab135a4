// A server that is far away: its answers come late, so that what a request takes tells how often it waited for one.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Runs `work(port)`, where a port leads to the server at `to`, whose answers are held up for `ms`. */
export async function farAway(to, ms, work) {
  const sockets = [];
  const server = createServer((client) => {
    const redis = connect(to, '127.0.0.1');
    sockets.push(client, redis);
    for (const socket of [client, redis]) socket.on('error', () => {}).setNoDelay();
    client.pipe(redis);
    redis.on('data', (data) => setTimeout(() => client.write(data), ms));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(server.address().port);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

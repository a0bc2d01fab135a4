// The server of the Redis rows: started as the tests start theirs, whose TypeScript Node 20 can't import.
import { build } from 'esbuild';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../tools/servers');

async function testServers() {
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'redis-server.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    // What it unpacks lies beside the tests, not beside a bundle in memory.
    define: { 'import.meta.dirname': JSON.stringify(folder) },
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

/** Runs `work(port)` with a server of its own, which is gone afterwards whatever happens. */
export async function withRedis(work) {
  const { RedisServer } = await testServers();
  const server = await RedisServer.start();
  try {
    return await work(server.port);
  } finally {
    await server.stop();
  }
}

/** Why there is no server to be had, and what to do; null when there is one. */
export async function missingRedis() {
  try {
    await withRedis(async () => {});
    return null;
  } catch (error) {
    return error.message;
  }
}

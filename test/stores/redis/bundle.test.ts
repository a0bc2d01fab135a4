// A user's program bundled into one file, as many deploy it, counts on a real Redis.
import { build, type Format } from 'esbuild';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RedisServer } from '../../tools/servers/redis-server.js';

/** Where `ioredis` is found from, and the package by its own name. */
const root = resolve(import.meta.dirname, '../../..');

const PROGRAM = `
import { Redis } from 'ioredis';
import { RedisStore } from 'nestjs-tollgate/redis';

const [, , url, prefix] = process.argv;
const rate = { algorithm: 'fixed', limit: 10, window: 31536000000000, unit: 1, capacity: 10 };
const bucket = { policy: 'exports', namespace: 'user:exports', key: 'all', rate, cost: 1 };

async function count(store) {
  let admitted = 0;
  for (let call = 0; call < 12; call++) {
    const [{ allowed }] = await store.consume([bucket], 10_000);
    if (allowed) admitted++;
  }
  await store.close();
  return admitted;
}

async function main() {
  const client = new Redis(url, { lazyConnect: true });
  const byClient = await count(new RedisStore(client, { keyPrefix: prefix + 'client:' }));
  const byUrl = await count(new RedisStore(url, { keyPrefix: prefix + 'url:' }));
  console.log(JSON.stringify({ byClient, byUrl }));
}

void main();
`;

let server: RedisServer;
let folder: string;

beforeAll(async () => {
  server = await RedisServer.start();
  folder = mkdtempSync(join(root, 'node_modules/.bundle-'));
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
});

it.each(['esm', 'cjs'] as const)(
  'a program bundled and minified to %s admits 10 of 12',
  async (format: Format) => {
    const file = join(folder, format === 'esm' ? 'program.mjs' : 'program.cjs');
    const { metafile } = await build({
      stdin: { contents: PROGRAM, resolveDir: root },
      outfile: file,
      bundle: true,
      minify: true,
      platform: 'node',
      format,
      external: ['ioredis', 'iovalkey', 'redis'],
      metafile: true,
      logLevel: 'silent',
    });
    expect(Object.keys(metafile.inputs)).toContain('dist/stores/redis/redis.store.js');
    const { stdout } = await promisify(execFile)(process.execPath, [file, server.url, format], {
      timeout: 12_000,
    });
    expect(JSON.parse(stdout)).toEqual({ byClient: 10, byUrl: 10 });
  },
);

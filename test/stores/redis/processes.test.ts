// Processes of their own, with clocks of their own, that use one limit up together.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { RedisCluster } from '../../tools/servers/redis-cluster.js';
import { RedisServer } from '../../tools/servers/redis-server.js';

/** Milliseconds by which the clocks of the processes are wrong. */
const SHIFTS = [-1_500, 0, 750, 1_500];

interface Outcome {
  readonly admitted: number;
  readonly failed: number;
}

async function run(urls: readonly string[], shift: number): Promise<Outcome> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'requests.mjs'), urls.join(), `${shift}`]);
  const [said, complaints, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  if (code !== 0) throw new Error(complaints);
  const outcome: Outcome = JSON.parse(said);
  return outcome;
}

/** 4 processes, 50 requests in flight and 2,000 in all each, on 1,000 in 24 hours. */
async function useUp(urls: readonly string[]): Promise<Outcome> {
  const outcomes = await Promise.all(SHIFTS.map((shift) => run(urls, shift)));
  return {
    admitted: outcomes.reduce((sum, { admitted }) => sum + admitted, 0),
    failed: outcomes.reduce((sum, { failed }) => sum + failed, 0),
  };
}

describe('four processes with 8,000 requests, their clocks apart by up to 3 s, are admitted exactly 1,000', () => {
  it.each(['redis-server', 'valkey-server'] as const)(
    'F02 J13 by %s',
    { timeout: 60_000 },
    async (program) => {
      const server = await RedisServer.start(program);
      try {
        expect(await useUp([server.url])).toEqual({ admitted: 1_000, failed: 0 });
      } finally {
        await server.stop();
      }
    },
  );

  it('F02 J13 by a cluster of three', { timeout: 60_000 }, async () => {
    const cluster = await RedisCluster.start();
    try {
      expect(await useUp(cluster.masters.map(({ url }) => url))).toEqual({ admitted: 1_000, failed: 0 });
    } finally {
      await cluster.stop();
    }
  });
});

// What servers count themselves, and where in a cluster keys lie.
import type { Redis } from 'ioredis';
import { keySlot, SLOTS } from '../../../lib/stores/redis/key-slot.js';

export interface Counts {
  /** Scripts asked for by their digest. */
  readonly evalsha: number;
  /** Scripts sent whole. */
  readonly eval: number;
  /** Commands that came to a node which doesn't hold their key. */
  readonly moved: number;
}

/** What some servers have counted between them, since they started. */
export async function countsOf(servers: readonly Redis[]): Promise<Counts> {
  const reports = await Promise.all(
    servers.map(async (server) => (await server.info('commandstats')) + (await server.info('errorstats'))),
  );
  const sum = (line: RegExp): number =>
    reports.reduce((total, report) => total + Number(line.exec(report)?.[1] ?? 0), 0);
  return {
    evalsha: sum(/^cmdstat_evalsha:calls=(\d+)/m),
    eval: sum(/^cmdstat_eval:calls=(\d+)/m),
    moved: sum(/^errorstat_MOVED:count=(\d+)/m),
  };
}

/** What `work` has made some servers count. */
export async function countsDuring(servers: readonly Redis[], work: () => Promise<void>): Promise<Counts> {
  const before = await countsOf(servers);
  await work();
  const after = await countsOf(servers);
  return {
    evalsha: after.evalsha - before.evalsha,
    eval: after.eval - before.eval,
    moved: after.moved - before.moved,
  };
}

/** Keys of one client each that lie on the first, second and third master of a cluster. In this order they sort. */
export function keysOnEach(prefix: string): [string, string, string] {
  const found: string[] = [];
  for (let i = 0; found.length < 3; i++) {
    const key = `${prefix} ${found.length} ${i}`;
    if (Math.floor((keySlot(`{${key}}`) * 3) / SLOTS) === found.length) found.push(key);
  }
  return [found[0], found[1], found[2]];
}

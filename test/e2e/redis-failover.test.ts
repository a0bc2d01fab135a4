// Whole apps under load whose Redis is lost for good, and whose replica takes its place.

import { Cluster, Redis } from 'ioredis';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import { createCluster, createSentinel } from 'redis';
import { afterAll, beforeAll, it } from 'vitest';
import { RedisCluster } from '../tools/servers/redis-cluster.js';
import { RedisSentinel } from '../tools/servers/redis-sentinel.js';
import type { RedisServer } from '../tools/servers/redis-server.js';
import type { AdapterName } from './support/app.js';
import { checkNestVersion } from './support/nest-version.js';
import {
  expectAnswers,
  expectCountedOnce,
  expectLimit,
  expectOneOutage,
  expectPolicies,
  report,
  runThrough,
  startSharing,
  type Course,
} from './support/redis-apps.js';

/** What happens does not depend on the adapter: one for each version of Nest. */
const adapter: AdapterName = process.env.NEST_MAJOR === '12' ? 'express' : 'fastify';

/** The Nest 11 line has the oldest clients: of that node-redis neither Sentinel nor clusters are supported. */
const CLIENTS: [string, string] =
  process.env.NEST_MAJOR === '12' ? ['ioredis', 'node-redis'] : ['ioredis', 'iovalkey'];

/** Milliseconds until limits are shared again: ten times what is promised, for busy machines. */
const WITHIN = 30_000;

let sentinel: RedisSentinel;
let cluster: RedisCluster;

beforeAll(async () => {
  [sentinel, cluster] = await Promise.all([RedisSentinel.start(), RedisCluster.start(1)]);
});

afterAll(async () => {
  await Promise.all([sentinel.stop(), cluster.stop()]);
});

checkNestVersion();

async function expectFailover(what: string, course: Course, left: readonly RedisServer[]): Promise<void> {
  const servers = left.map(({ port }) => new Redis(port, '127.0.0.1'));
  report(what, course);
  try {
    expectAnswers(course);
    expectPolicies(course);
    expectLimit(course, 'kept');
    expectOneOutage(course);
    // What the replica had not heard of is lost with the master.
    await expectCountedOnce(course, servers, { surelySince: course.mended });
  } finally {
    for (const server of servers) server.disconnect();
  }
}

it('K07 K08 K09 a failover by Sentinel under load', async () => {
  const { name, nodes } = sentinel;
  const clients = {
    ioredis: () => new Redis({ sentinels: nodes, name, lazyConnect: true }),
    iovalkey: () => new Valkey({ sentinels: nodes, name, lazyConnect: true }),
    'node-redis': () => createSentinel({ name, sentinelRootNodes: nodes }),
  };
  const apps = await startSharing(adapter, clients, CLIENTS);
  const course = await runThrough(apps, {
    fail: () => sentinel.master.crash(),
    mend: () => sentinel.promoted(),
    within: WITHIN,
  });
  await expectFailover('Sentinel', course, [sentinel.replica]);
}, 120_000);

it('K07 K08 K09 a failover of a cluster under load', async () => {
  const { nodes } = cluster;
  const clients = {
    ioredis: () => new Cluster(nodes, { lazyConnect: true }),
    iovalkey: () => new ValkeyCluster(nodes, { lazyConnect: true }),
    'node-redis': () => createCluster({ rootNodes: nodes.map((socket) => ({ socket })) }),
  };
  const apps = await startSharing(adapter, clients, CLIENTS);
  const course = await runThrough(apps, {
    fail: () => cluster.masters[0].crash(),
    mend: () => cluster.promoted(),
    within: WITHIN,
  });
  await expectFailover('cluster', course, cluster.replicas);
}, 120_000);

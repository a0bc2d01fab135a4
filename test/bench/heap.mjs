// Heap per live client: what a limiter holds for each, text of the key included.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRate } from '../../dist/algorithms/rate.js';
import { MemoryStore } from '../../dist/stores/memory/memory.store.js';
import { Policy } from '../../dist/limiter/policy.js';
import { BareMap } from './bare-map.mjs';
import { address } from './clients.mjs';
import { proof } from './harness.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

const HOUR = 3_600_000_000;

function used() {
  for (let i = 0; i < 3; i++) gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Bytes per client. `fill` returns what holds them. */
async function perClient(fill, clients) {
  // Once with few, so that code and shapes are there before.
  let held = await fill(1000);
  held = null;
  const before = used();
  held = await fill(clients);
  const bytes = (used() - before) / clients;
  proof('heap', held !== null, 'nothing is held');
  held.shutdown?.();
  return bytes;
}

function bareMap(count) {
  const map = new BareMap(100, HOUR);
  for (let i = 0; i < count; i++) map.consume(address(i));
  return map;
}

function tollgate(count) {
  const store = new MemoryStore();
  const policy = new Policy('per-ip');
  const rate = createRate('gcra', 100, HOUR);
  for (let i = 0; i < count; i++) store.consume([policy.bucket('network', address(i), rate, 1)]);
  proof('tollgate', store.size === count, `${store.size} of ${count} clients are held`);
  return store;
}

/** What the stores of peers are filled by; null without them. */
async function peerFills() {
  const { STORES } = await import('./peers.mjs');
  return STORES.map(({ name, create }) => [
    name,
    async (count) => {
      const { store, hit } = create(count);
      for (let i = 0; i < count; i++) await hit(address(i));
      return store;
    },
  ]);
}

/** Bytes per client by name. */
export async function heapPerClient(clients, withPeers) {
  const fills = [['bare Map', bareMap], ['tollgate', tollgate], ...(withPeers ? await peerFills() : [])];
  const bytes = {};
  for (const [name, fill] of fills) bytes[name] = await perClient(fill, clients);
  return bytes;
}

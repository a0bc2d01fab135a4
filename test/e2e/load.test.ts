import { Agent } from 'node:http';
import { describe, expect, it } from 'vitest';
import { MemoryStore } from '../../lib/index.js';
import { ADAPTERS, startApp } from './support/app.js';
import { send } from './support/client.js';
import { checkNestVersion } from './support/nest-version.js';

const CONNECTIONS = 200;
const REQUESTS = 10_000;
const LIMIT = 1_000;

checkNestVersion();

describe.each(ADAPTERS)('load on %s', (adapter) => {
  it('of 10,000 requests over 200 connections exactly the limit passes', async () => {
    const store = new MemoryStore();
    const running = await startApp(adapter, { rateLimit: { perIp: { limit: LIMIT, per: '24h' }, store } });
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const counts = new Map<number, number>();
    const left = new Set<unknown>();
    let sent = 0;
    const client = async (): Promise<void> => {
      while (sent < REQUESTS) {
        sent += 1;
        const { status, headers } = await send(running, '/nope', { agent });
        counts.set(status, (counts.get(status) ?? 0) + 1);
        if (status === 404) left.add(headers['ratelimit-remaining']);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    agent.destroy();
    expect(Object.fromEntries(counts)).toEqual({ 404: LIMIT, 429: REQUESTS - LIMIT });
    // Each that passed was told another number: none was decided on what another had read.
    expect(left.size).toBe(LIMIT);
    expect(store.size).toBe(1);
    expect(running.log.all.filter(({ level }) => level === 'error')).toEqual([]);
  }, 120_000);
});

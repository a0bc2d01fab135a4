// Requests over HTTP: one server process per variant, all loaded in turns by autocannon over 127.0.0.1.
import autocannon from 'autocannon';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { proof } from './harness.mjs';

const CONNECTIONS = 32;

class Server {
  constructor(adapter, variant) {
    this.name = variant;
    this.process = fork(join(import.meta.dirname, 'http-server.mjs'), [adapter, variant]);
  }

  async started() {
    const [{ url }] = await once(this.process, 'message');
    this.url = `${url}/reports`;
    return this;
  }

  async cpu() {
    this.process.send('cpu');
    const [{ cpu }] = await once(this.process, 'message');
    return cpu.user + cpu.system;
  }

  /** Requests per second, and processor time of the server per request in microseconds. */
  async load(seconds) {
    const before = await this.cpu();
    const result = await autocannon({ url: this.url, connections: CONNECTIONS, duration: seconds });
    const spent = (await this.cpu()) - before;
    const answered = result['2xx'];
    proof(this.name, answered > 0 && result.non2xx + result.errors === 0, 'not every answer was 200');
    return { rps: (answered * 1000) / (result.finish - result.start), cpu: spent / answered };
  }

  async remaining() {
    const { headers } = await fetch(this.url);
    return headers.get('ratelimit-remaining');
  }

  close() {
    this.process.disconnect();
  }
}

/** Per variant the requests per second and the processor time of every round. */
export async function httpRounds(adapter, variants, { rounds, seconds }) {
  const servers = await Promise.all(variants.map((variant) => new Server(adapter, variant).started()));
  try {
    const results = new Map(variants.map((variant) => [variant, { rps: [], cpu: [] }]));
    for (const server of servers) await server.load(1);
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < servers.length; i++) {
        const server = servers[(i + round) % servers.length];
        const { rps, cpu } = await server.load(seconds);
        results.get(server.name).rps.push(rps);
        results.get(server.name).cpu.push(cpu);
      }
    }
    for (const server of servers) await proveLimits(server);
    return results;
  } finally {
    for (const server of servers) server.close();
  }
}

/** What says so in its headers really counts. */
async function proveLimits(server) {
  if (server.name === 'tollgate' || server.name === 'hand-written hook') {
    const left = Number(await server.remaining());
    proof(server.name, left > 0 && left < 40_000_000, `ratelimit-remaining is ${left}`);
  }
}

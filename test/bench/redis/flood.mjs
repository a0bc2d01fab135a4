// A client that goes on long after it is refused: what its requests still cost the server.
import { setImmediate as turn } from 'node:timers/promises';
import { proof } from '../harness.mjs';

const CLIENT = '192.0.2.1';

/** Requests, and commands that they sent to the server, per second of a flood of `ms`; `width` requests at once. */
export async function flood(limiter, meter, width, ms) {
  for (let tries = 0; await limiter.decide(CLIENT); tries++) proof(limiter.name, tries < 100, 'no refusal');
  const before = await meter.read();
  const start = performance.now();
  let requests = 0;
  const work = async () => {
    while (performance.now() - start < ms) {
      proof(limiter.name, !(await limiter.decide(CLIENT)), 'admitted');
      requests++;
      // A request comes from a socket: none starts before the event loop has gone on.
      await turn();
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  const seconds = (performance.now() - start) / 1000;
  const commands = (await meter.read()).commands - before.commands;
  return { requests: requests / seconds, commands: commands / seconds };
}

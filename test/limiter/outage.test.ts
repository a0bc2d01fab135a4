import { expect, it } from 'vitest';
import { TollgateError } from '../../lib/errors.js';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { Outage } from '../../lib/limiter/outage.js';

const broken = () => Promise.reject(new TollgateError('TOLLGATE_STORE_NOT_DONE', 'secret://user:pass@host'));

function setup() {
  const events: RateLimitEvent[] = [];
  let now = 0;
  const outage = new Outage(
    (event) => events.push(event),
    () => now,
  );
  return { outage, events, advance: (seconds: number) => (now += seconds * 1e6) };
}

it('one failure is no outage: a call that succeeds in between begins the count anew', async () => {
  const { outage, events } = setup();
  for (let i = 0; i < 10; i++) {
    await outage.ask(broken).catch(() => {});
    await outage.ask(broken).catch(() => {});
    await outage.ask(() => Promise.resolve(1));
  }
  expect([outage.over, events]).toEqual([true, []]);
});

it('three in a row are one, told by the code and without a word of the error', async () => {
  const { outage, events, advance } = setup();
  for (let i = 0; i < 3; i++) await expect(outage.ask(broken)).rejects.toThrow('secret');
  expect(outage.over).toBe(false);
  expect(events).toEqual([{ type: 'store-down', problem: 'TOLLGATE_STORE_NOT_DONE' }]);
  let asked = 0;
  await expect(outage.ask(() => Promise.resolve(asked++))).rejects.toThrow();
  expect(asked).toBe(0);
  advance(42);
  await new Promise((resolve) => setTimeout(resolve, 350));
  expect(await outage.ask(() => Promise.resolve('back'))).toBe('back');
  expect(events.at(-1)).toEqual({ type: 'store-up', seconds: 42 });
  expect(outage.over).toBe(true);
});

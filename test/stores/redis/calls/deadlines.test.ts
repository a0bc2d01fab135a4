import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Deadlines, Due } from '../../../../lib/stores/redis/calls/deadlines.js';

const now = (): number => Math.floor(performance.now() * 1000);

class Call extends Due {
  constructor(
    readonly due: number,
    readonly expire: () => void,
  ) {
    super();
  }
}

it('ends each call at its moment, whatever their order, and none that is over', async () => {
  const deadlines = new Deadlines(now);
  const ended: { after: number; late: number }[] = [];
  const call = (after: number) => {
    const due = now() + after * 1000;
    return new Call(due, () => void ended.push({ after, late: (now() - due) / 1000 }));
  };
  const over = call(25);
  for (const each of [call(40), call(10), over, call(70), call(10)]) deadlines.add(each);
  deadlines.remove(over);
  await sleep(120);
  expect(ended.map(({ after }) => after)).toEqual([10, 10, 40, 70]);
  for (const { late } of ended) {
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(40);
  }
});

it('starts a timer again after a pause', async () => {
  const deadlines = new Deadlines(now);
  let ended = 0;
  for (let round = 1; round <= 3; round++) {
    deadlines.add(new Call(now() + 5_000, () => void ended++));
    await sleep(30);
    expect(ended).toBe(round);
  }
});

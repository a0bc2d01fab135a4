// The contract of the lease call: purses borrow from one balance, and points exist once. The arithmetic itself is
// tested with the algorithm; here a store shows that it keeps accounts and carries the call.

import { strict as assert } from 'node:assert';
import type { LeaseReply, LeaseRequest } from '../../algorithms/lease.js';
import type { Bench, Specify } from './bench.js';

/** One point a second, two minutes' worth at most, in thousandths. */
const TIER = { rate: 1_000, cap: 120_000 };
const ACCOUNT = { namespace: 'balance', key: 'user' };

async function call(bench: Bench, request: Partial<LeaseRequest>, key = ACCOUNT.key): Promise<LeaseReply> {
  const whole: LeaseRequest = {
    id: 'a',
    seq: 1,
    remaining: 0,
    need: 0,
    want: 0,
    release: false,
    ...TIER,
    ...request,
  };
  const [reply] = await bench.store.lease([{ account: { ...ACCOUNT, key }, request: whole }], 5_000);
  return reply;
}

export function leases(specify: Specify): void {
  specify('leases: two purses borrow from one balance, and never more than it holds', async (bench) => {
    const first = await call(bench, { id: 'a', need: 100_000 });
    const second = await call(bench, { id: 'b', need: 50_000 });
    assert.equal(first.granted, 100_000);
    assert.equal(second.granted, 0, 'only 20 points are left');
    assert.ok(second.retryAfter !== null && second.retryAfter > 0);
  });

  specify('leases: a call repeated with its seq changes nothing and answers the same', async (bench) => {
    const first = await call(bench, { need: 30_000 });
    const again = await call(bench, { need: 30_000 });
    assert.equal(again.replayed, true);
    assert.equal(again.granted, first.granted);
    assert.equal(again.balance, first.balance);
  });

  specify('leases: what a purse gives back another can borrow', async (bench) => {
    await call(bench, { id: 'a', need: 120_000 });
    await call(bench, { id: 'a', seq: 2, remaining: 120_000, release: true });
    assert.equal((await call(bench, { id: 'b', need: 120_000 })).granted, 120_000);
  });

  specify('leases: a balance fills up at its rate once the spending is reported', async (bench) => {
    await call(bench, { need: 120_000 });
    await call(bench, { seq: 2, remaining: 0 });
    bench.clock.advance('10s');
    const early = await call(bench, { seq: 3, need: 10_001 });
    assert.equal(early.granted, 0);
    assert.equal(early.retryAfter, 1_000, 'a thousandth of a point takes a millisecond');
    assert.equal((await call(bench, { seq: 4, need: 10_000 })).granted, 10_000);
  });

  specify('leases: accounts are told apart, and clearing buckets leaves them alone', async (bench) => {
    await call(bench, { need: 120_000 });
    assert.equal((await call(bench, { need: 120_000 }, 'other')).granted, 120_000);
    await bench.store.clear([ACCOUNT], 5_000);
    assert.equal((await call(bench, { id: 'b', need: 1_000 })).granted, 0);
  });

  specify('leases: calls of one list are answered in its order, each on its own', async (bench) => {
    const request: LeaseRequest = {
      id: 'a',
      seq: 1,
      remaining: 0,
      need: 0,
      want: 0,
      release: false,
      ...TIER,
    };
    const replies = await bench.store.lease(
      [
        { account: { ...ACCOUNT, key: 'one' }, request: { ...request, need: 120_001 } },
        { account: { ...ACCOUNT, key: 'two' }, request: { ...request, need: 7_000 } },
      ],
      5_000,
    );
    assert.equal(replies[0].granted, 0);
    assert.equal(replies[0].retryAfter, null, 'more than the cap can never be had');
    assert.ok(replies[1].granted >= 7_000);
  });
}

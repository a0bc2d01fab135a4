// From the numbers that the step script returns to verdicts, by the same functions that memory uses.

import { fixedVerdict, fixedWait, windowEnd } from '../../algorithms/fixed-window.js';
import { gcraVerdict, gcraWait } from '../../algorithms/gcra.js';
import type { Bucket, Verdict } from '../../algorithms/verdict.js';

/** The verdict of a bucket that now holds `held`, `taken` of it by this call. */
export function verdictOf(bucket: Bucket, held: number, taken: number, now: number): Verdict {
  const { rate, cost } = bucket;
  if (rate.algorithm === 'gcra') {
    return gcraVerdict(bucket, held, taken, gcraWait(held - taken, cost, rate), now);
  }
  const end = windowEnd(rate.window, now);
  return fixedVerdict(bucket, held, taken, fixedWait(held - taken, cost, rate, end, now), end, now);
}

/** The verdict of a bucket that was charged and got it back, because another bucket of the step refused. */
export function givenBack(verdict: Verdict): Verdict {
  const { bucket, taken, remaining, resetAfter, until } = verdict;
  const { rate } = bucket;
  if (taken === 0) return verdict;
  const held = rate.algorithm === 'gcra' ? resetAfter : rate.limit - remaining;
  return verdictOf(bucket, held - taken, 0, until - resetAfter);
}

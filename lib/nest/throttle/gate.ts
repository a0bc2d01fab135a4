// Turns the answer of a step into what happens to a call: it is told and passes, or it is told and refused.

import { decisionOf } from '../../algorithms/decision.js';
import { tightest, type Verdict } from '../../algorithms/verdict.js';
import type { MaybePromise } from '../../stores/store.js';
import type { Caller } from '../call.js';

/** True, or the refusal thrown. A promise only where the verdicts are one. */
export function admit(caller: Caller, verdicts: MaybePromise<Verdict[]>): MaybePromise<true> {
  if (verdicts instanceof Promise) return verdicts.then((settled) => settle(caller, settled));
  return settle(caller, verdicts);
}

function settle(caller: Caller, verdicts: readonly Verdict[]): true {
  const verdict = tightest(verdicts);
  caller.tell(verdict);
  if (!verdict.allowed) throw caller.refusal(decisionOf(verdict));
  return true;
}

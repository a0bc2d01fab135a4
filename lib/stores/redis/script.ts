// A Lua script and the digest by which a server that has seen it knows it.

import { createHash } from 'node:crypto';
import { CLEAR } from './scripts/clear.lua.js';
import { LEASE } from './scripts/lease.lua.js';
import { REFUND } from './scripts/refund.lua.js';
import { STEP } from './scripts/step.lua.js';

export interface Script {
  readonly text: string;
  /** What EVALSHA takes. */
  readonly sha: string;
}

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

export const SCRIPTS = {
  step: script(STEP),
  refund: script(REFUND),
  clear: script(CLEAR),
  lease: script(LEASE),
};

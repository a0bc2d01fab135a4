// The script of clear. DEL alone would do, but not know a deadline.

import { DEADLINE } from './deadline.lua.js';

export const CLEAR = `-- Forgets buckets.
--
-- KEYS     all keys of each bucket
-- ARGV     [1] deadline, [2] now, [3] number of the call
-- Returns  { server, number of the call, keys that were there }
${DEADLINE}
return { server, callNumber, redis.call('DEL', unpack(KEYS)) }
`;

// The script of clear. DEL alone would do, but not know a deadline.

import { DEADLINE } from './deadline.lua.js';

export const CLEAR = `-- Forgets buckets.
--
-- KEYS     all keys of each bucket
-- ARGV     [1] deadline, [2] now
-- Returns  { server, keys that were there }
${DEADLINE}
return { server, redis.call('DEL', unpack(KEYS)) }
`;

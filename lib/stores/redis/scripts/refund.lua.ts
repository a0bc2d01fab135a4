// The script of refund: gives charges back, each at most what it still occupies.

import { DEADLINE } from './deadline.lua.js';

export const REFUND = `-- Gives charges back, only in the window they were made. Creates no key.
--
-- KEYS     one per charge, a bucket's more than once where several charges of it come back
-- ARGV     [1] deadline, [2] now; then four per charge:
--          'g' or 'f', window in microseconds, until when the charge counts, amount in units of the capacity;
--          at last the number of the call
-- Returns  { server, number of the call, charges }

local SPARE = 1000 -- milliseconds a key outlives what it holds
local HUGE = 9007199254740991
local FURTHEST = 1000000000000000 -- 31 years in microseconds
${DEADLINE}
for i = 1, #KEYS do
  local fixed, window = ARGV[i * 4 - 1] == 'f', tonumber(ARGV[i * 4])
  local till, amount = tonumber(ARGV[i * 4 + 1]), tonumber(ARGV[i * 4 + 2])
  local value = redis.call('MGET', KEYS[i])[1] or '' -- not GET: another type is no error
  local left, text, life
  if fixed then
    local ending = now - math.fmod(now, window) + window
    local stored, count = string.match(value, '^(%d+):(%d+)$')
    if till == ending and tonumber(stored) == ending then
      left = math.max(0, math.min(tonumber(count), HUGE) - amount)
      text, life = string.format('%.0f:%.0f', ending, left), ending - now
    end
  else
    local ahead = tonumber(string.match(value, '^%d+$') or 0) - now
    local back = math.min(amount, till - now)
    -- What lies further ahead than any window is not ours.
    if ahead > 0 and ahead <= FURTHEST and back > 0 then
      left = math.max(0, ahead - back)
      text, life = string.format('%.0f', now + left), left
    end
  end
  if left == 0 then
    redis.call('DEL', KEYS[i])
  elseif left then
    redis.call('SET', KEYS[i], text, 'PX', string.format('%.0f', math.ceil(life / 1000) + SPARE))
  end
end

return { server, callNumber, #KEYS }
`;

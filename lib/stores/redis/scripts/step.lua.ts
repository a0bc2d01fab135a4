// The script of consume, peek and charge: one step over all its buckets, read, tested and written in one go.

import { DEADLINE } from './deadline.lua.js';

export const STEP = `-- One step: reads every bucket, tests all, then charges all or none.
--
-- KEYS     one per bucket. A GCRA bucket holds its theoretical arrival time, '1764460800123456'; a fixed window its
--          end and its count, '1764460860000000:7'. Anything else counts as a fresh bucket.
-- ARGV     [1] deadline, [2] now, [3] 'consume', 'peek' or 'charge'; then four per bucket:
--          'g' or 'f', window in microseconds, amount, capacity (both in units of the capacity); at last the number of the call
-- Returns  { server, number of the call, held, taken, held, taken, ... }, in the units of the capacity

local SPARE = 1000 -- milliseconds a key outlives what it holds
local HUGE = 9007199254740991
${DEADLINE}
local mode = ARGV[3]
local values = redis.call('MGET', unpack(KEYS)) -- not GET: another type is no error
local ends, beyond, room = {}, {}, true
local answer = { server, callNumber } -- until the end what each bucket holds, and the amount asked of it

for i = 1, #KEYS do
  local value, at, before = values[i], i * 4, 0
  local amount, capacity = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if ARGV[at] == 'f' then
    local window = tonumber(ARGV[at + 1])
    ends[i] = now - math.fmod(now, window) + window
    local stored, count = string.match(value or '', '^(%d+):(%d+)$')
    if tonumber(stored) == ends[i] then before = math.min(tonumber(count), HUGE) end
  elseif value then
    local ahead = tonumber(string.match(value, '^%d+$') or 0) - now
    before = math.max(0, math.min(ahead, capacity))
    if ahead > before then beyond[i] = ahead - before end
  end
  if amount > 0 and before + amount > capacity then room = false end
  answer[i * 2 + 1], answer[i * 2 + 2] = before, amount
end

local charged = mode == 'charge' or (mode == 'consume' and room)
local look = mode == 'peek' or (not charged and #KEYS > 1)

for i = 1, #KEYS do
  local before, after = answer[i * 2 + 1], answer[i * 2 + 1]
  if charged then after = before + answer[i * 2 + 2] end
  if mode == 'charge' then after = math.min(after, ends[i] and HUGE or tonumber(ARGV[i * 4 + 3])) end
  local life = ends[i] and ends[i] - now or after
  -- A time beyond the capacity is written back even on a refusal: the bucket would count as full until that time
  -- came near. A look spares what the rounding of intervals makes of two limits of one window.
  local spared = beyond[i] and look and tonumber(ARGV[i * 4 + 1]) / 100 or 0
  if after ~= before or (beyond[i] or 0) > spared then
    local value = now + after -- Redis writes a number with 17 digits: all that it has
    if ends[i] then value = string.format('%.0f:%.0f', ends[i], after) end
    redis.call('SET', KEYS[i], value, 'PX', math.ceil(life / 1000) + SPARE)
  elseif values[i] and redis.call('PTTL', KEYS[i]) == -1 then
    -- Without expiry it was not written by us: it goes once it can't matter any more.
    redis.call('PEXPIRE', KEYS[i], math.ceil(life / 1000) + SPARE)
  end
  answer[i * 2 + 1], answer[i * 2 + 2] = after, after - before
end

return answer
`;

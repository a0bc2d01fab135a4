// The script of the lease call: algorithms/lease.ts and lease-account.ts once more, where the accounts are.

import { DEADLINE } from './deadline.lua.js';
import { LEASE_ACCOUNT } from './lease-account.lua.js';

export const LEASE = `-- Lets purses settle with their accounts, one after the other. Names and steps are those of algorithms/lease.ts.
--
-- KEYS     the account of each call
-- ARGV     [1] deadline, [2] now; then eight per call: id, seq, remaining, need, want, rate, cap, '1' to release;
--          at last the number of the call
-- Returns  { server, number of the call, then eight per call: granted, kept, lifetime, retryAfter (-1: never), balance, others,
--          forfeited, 1 for a replay }

local SECOND, SHORTEST, LONGEST = 1000000, 5000000, 120000000
local SPARE = 1000 -- milliseconds a key outlives what it holds
local NEVER = -1
local ACCOUNT, LEASE = 6, 6 -- numbers per account, fields per lease
local min, max, floor, ceil = math.min, math.max, math.floor, math.ceil
${DEADLINE}${LEASE_ACCOUNT}
local function withdraw(account, others, request, kept, held)
  local old = held and held.expires or 0
  local latest = old
  if account.out <= account.cap or kept == 0 then latest = max(old, account.time + LONGEST) end
  local granted, retryAt = 0, 0
  if request.need == 0 or account.balance >= request.need then
    local fairShare = floor((account.balance + account.out) / (holders(others) + 1)) - kept
    local wanted = max(request.want, floor(account.balance / 10))
    local buffer = min(wanted, floor(account.balance / 4), fairShare)
    granted = max(0, min(account.balance, max(request.need, buffer)))
    account.balance = account.balance - granted
    account.out = account.out + granted
  elseif kept + request.need > account.cap then
    retryAt = NEVER
  else
    local all = { unpack(others) }
    all[#all + 1] = { id = request.id, points = kept, expires = latest }
    retryAt = balanceReaches(account, all, request.need, request.id)
  end
  local share = min(1000, floor(max(0, account.balance) * 2000 / account.cap))
  local expires = account.time + max(SHORTEST, share * (LONGEST / 1000))
  if retryAt > 0 then expires = max(expires, retryAt + SHORTEST) end
  expires = max(old, min(expires, latest))
  return { id = request.id, seq = request.seq, points = kept + granted, granted = granted, retryAt = retryAt, expires = expires }
end

local function call(key, request)
  local account, leases = read(key)
  if not account then
    account = { balance = request.cap, out = 0, time = now, remainder = 0, rate = request.rate, cap = request.cap }
    leases = {}
  end
  local outBefore, time = account.out, max(now, account.time)
  local others, held = {}, nil
  for _, lease in ipairs(byExpiry(leases)) do
    if lease.expires <= time then
      accrue(account, lease.expires)
      account.out = account.out - lease.points
    elseif lease.id == request.id then
      held = lease
    else
      others[#others + 1] = lease
    end
  end
  accrue(account, time)

  local function reply(own, forfeited, replayed)
    local retryAfter = own.retryAt == NEVER and NEVER or max(0, own.retryAt - time)
    return {
      own.granted, own.points - own.granted, own.expires - time, retryAfter,
      account.balance, holders(others), forfeited, replayed,
    }
  end
  if held and request.seq <= held.seq then return reply(held, 0, 1) end

  local forfeited, unclipped = outBefore - account.out, max(0, account.balance)
  account.rate, account.cap = request.rate, request.cap
  account.balance = min(account.balance, max(0, account.cap - account.out))
  forfeited = forfeited + unclipped - max(0, account.balance)

  local kept = 0
  if held or not request.release then
    local lent = held and held.points or 0
    local space = max(0, account.cap - account.out - max(0, account.balance))
    kept = min(max(0, request.remaining), lent + space)
    account.out = account.out + kept - lent
    account.balance = max(-account.cap, account.balance - max(0, -request.remaining))
  end

  if request.release then
    account.out = account.out - kept
    local back = min(kept, max(0, account.cap - account.out - account.balance))
    account.balance = account.balance + back
    write(key, account, others)
    return reply({ points = 0, granted = 0, retryAt = 0, expires = time }, forfeited + kept - back, 0)
  end
  local own = withdraw(account, others, request, kept, held)
  local answer = reply(own, forfeited, 0)
  others[#others + 1] = own
  write(key, account, others)
  return answer
end

local answer = { server, callNumber }
for i = 1, #KEYS do
  local at = i * 8 - 5
  local reply = call(KEYS[i], {
    id = ARGV[at], seq = tonumber(ARGV[at + 1]), remaining = tonumber(ARGV[at + 2]), need = tonumber(ARGV[at + 3]),
    want = tonumber(ARGV[at + 4]), rate = tonumber(ARGV[at + 5]), cap = tonumber(ARGV[at + 6]),
    release = ARGV[at + 7] == '1',
  })
  for _, number in ipairs(reply) do answer[#answer + 1] = number end
end
return answer
`;

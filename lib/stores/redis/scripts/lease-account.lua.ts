// What the lease script knows of one account: its arithmetic (algorithms/lease-account.ts) and how it is stored.

/** Reads and writes accounts; needs the names of the script it is put into. */
export const LEASE_ACCOUNT = `
local function timeToEarn(account, points)
  local seconds = floor(points / account.rate)
  local rest = points - seconds * account.rate
  return seconds * SECOND + ceil((rest * SECOND - account.remainder) / account.rate)
end

local function accrue(account, till)
  local missing, elapsed = account.cap - account.out - account.balance, till - account.time
  account.time = till
  if missing <= 0 then
    account.remainder = 0
  elseif elapsed >= timeToEarn(account, missing) then
    account.balance = account.balance + missing
    account.remainder = 0
  else
    local seconds = floor(elapsed / SECOND)
    local fraction = (elapsed - seconds * SECOND) * account.rate + account.remainder
    local extra = floor(fraction / SECOND)
    account.balance = account.balance + seconds * account.rate + extra
    account.remainder = fraction - extra * SECOND
  end
end

local function byExpiry(leases)
  local sorted = { unpack(leases) }
  table.sort(sorted, function(a, b) return a.expires < b.expires end)
  return sorted
end

local function reaches(account, points)
  if account.balance >= points then return account.time end
  if points > account.cap - account.out then return math.huge end
  return account.time + timeToEarn(account, points - account.balance)
end

local function balanceReaches(account, leases, need, id)
  local ahead = {}
  for name, value in pairs(account) do ahead[name] = value end
  for _, lease in ipairs(byExpiry(leases)) do
    local reached = reaches(ahead, need)
    if reached < lease.expires then return reached end
    accrue(ahead, lease.expires)
    ahead.out = ahead.out - lease.points
    if lease.id == id then need = need + lease.points end
  end
  return reaches(ahead, need)
end

local function holders(leases)
  local count = 0
  for _, lease in ipairs(leases) do
    if lease.points > 0 then count = count + 1 end
  end
  return count
end

-- One flat MessagePack list, the account and then its leases: cjson would round times. What is no such list, written
-- by whomever, is no account.
local function read(key)
  local packed = redis.call('MGET', key)[1]
  if not packed then return end
  local fine, list = pcall(cmsgpack.unpack, packed)
  if not fine or type(list) ~= 'table' or #list < ACCOUNT or (#list - ACCOUNT) % LEASE ~= 0 then return end
  for i, value in ipairs(list) do
    local isId = i > ACCOUNT and (i - ACCOUNT) % LEASE == 1
    if type(value) ~= (isId and 'string' or 'number') then return end
    if not isId and (value ~= floor(value) or value > 9007199254740991 or value < -9007199254740991) then return end
  end
  local account = {
    balance = list[1], out = list[2], time = list[3], remainder = list[4], rate = list[5], cap = list[6],
  }
  if account.rate < 1 or account.cap < 1 then return end
  local leases = {}
  for i = ACCOUNT + 1, #list, LEASE do
    leases[#leases + 1] = {
      id = list[i], seq = list[i + 1], points = list[i + 2],
      granted = list[i + 3], retryAt = list[i + 4], expires = list[i + 5],
    }
  end
  return account, leases
end

-- Dropped no earlier than it equals an absent account. The life counts from the account's own time, which may be
-- ahead of a clock that stepped back: that long, by any clock, no lease outlives it.
local function write(key, account, leases)
  local last = account.time
  for _, lease in ipairs(leases) do last = max(last, lease.expires) end
  local fullAt = max(last, balanceReaches(account, leases, account.cap))
  local list = { account.balance, account.out, account.time, account.remainder, account.rate, account.cap }
  for _, lease in ipairs(leases) do
    list[#list + 1] = lease.id
    list[#list + 1] = lease.seq
    list[#list + 1] = lease.points
    list[#list + 1] = lease.granted
    list[#list + 1] = lease.retryAt
    list[#list + 1] = lease.expires
  end
  local life = string.format('%.0f', ceil((fullAt - account.time) / 1000) + SPARE)
  redis.call('SET', key, cmsgpack.pack(list), 'PX', life)
end
`;

-- Takes a token out of one bucket, in one round trip: the steps of `limit`, by the clock of Redis.
--
-- KEYS[1] is the bucket. ARGV has, in nanoseconds, what one token takes to come back and an empty
-- bucket to fill. The answer is the bucket's debt before: `Policy::take` makes the verdict of it.
--
-- The moment at which the bucket is full is kept as seconds and nanoseconds since 1970: a number of Lua
-- is exact up to 2^53, which is less than these nanoseconds in one, and more than any debt.
local clock = redis.call('TIME')
local seconds, nanos = tonumber(clock[1]), tonumber(clock[2]) * 1000
local token, fill = tonumber(ARGV[1]), tonumber(ARGV[2])

local found = 0 -- step 1
-- What somebody else has put there counts as no bucket: it must not cost anybody the shared limits.
local kept = redis.pcall('GET', KEYS[1])
local full_s, full_ns = string.match(type(kept) == 'string' and kept or '', '^(%d+)%.(%d+)$')
if full_s then
    found = (full_s - seconds) * 1e9 + (full_ns - nanos)
end
local debt = math.min(math.max(found, 0), fill) -- step 4

local after = debt + token -- step 2
if after > fill then
    after = debt -- step 3
end
if after ~= found then
    local full = nanos + after
    local moment = string.format('%d.%09d', seconds + math.floor(full / 1e9), full % 1e9)
    redis.call('SET', KEYS[1], moment, 'PX', math.ceil(after / 1e6)) -- step 5
end
return debt

// The steps of a topic, in Lua. Its entries are a stream, whose ids are "number-0", each with one field, d. Beside it
// lies a hash with the same life:
//   n last number    c number before its first one    t<token> the token's entry    s<slot> the token of one of the newest
import { type Script, script } from './scripts.ts'

/**
 * Entries by whose tokens a repeat is known. 64 are promised; but a publisher that was cut off for a moment comes back
 * later than that when others publish thousands a second.
 */
const TOKENS = 1024

const CLOCK = `
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function make()
  local now = clock()
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[2], 'n', now, 'c', now)
  return now
end`

/** KEYS: entries, state. ARGV: text, token, followed, most entries, life where it is made. Gives the entry's number, or 0. */
export const PUBLISH: Script = script(`${CLOCK}
local m = redis.call('HMGET', KEYS[2], 'n', 't' .. ARGV[2])
local last = tonumber(m[1])
if m[2] then return tonumber(m[2]) end
if not last then
  if ARGV[3] == '1' then return 0 end
  last = make()
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
end
local n = last + 1
local isNew = redis.call('EXISTS', KEYS[1]) == 0
redis.call('XADD', KEYS[1], string.format('%.0f-0', n), 'd', ARGV[1])
if isNew then redis.call('PEXPIRE', KEYS[1], math.max(1, redis.call('PTTL', KEYS[2]))) end
local slot = 's' .. (n % ${TOKENS})
local old = redis.call('HGET', KEYS[2], slot)
if old then redis.call('HDEL', KEYS[2], 't' .. old) end
redis.call('HSET', KEYS[2], 'n', n, 't' .. ARGV[2], n, slot, ARGV[2])
if n % 500 == 0 then redis.call('XTRIM', KEYS[1], 'MAXLEN', ARGV[4]) end
return n`)

/** Gives it a life at least as long, makes it if absent, trims. ARGV: life, handled up to. Gives: last, the one before its first, clock. */
export const FOLLOW: Script = script(`${CLOCK}
local m = redis.call('HMGET', KEYS[2], 'n', 'c')
local last, before = tonumber(m[1]), tonumber(m[2])
if not last then
  last = make()
  before = last
end
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[1]) then
  redis.call('PEXPIRE', KEYS[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
local handled = math.min(tonumber(ARGV[2]), last - 64)
if handled > before then redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f-0', handled + 1)) end
return {last, before, clock()}`)

/** ARGV: after, max. Gives: whether it is all there, last (nothing where there is no topic), entries. */
export const READ_TOPIC: Script = script(`
local last = tonumber(redis.call('HGET', KEYS[2], 'n'))
if not last then return {0} end
local after = tonumber(ARGV[1])
local isBeyond = after > last
local from = isBeyond and '-' or string.format('%.0f-0', after + 1)
local entries = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', ARGV[2])
local isWhole = after == last
if entries[1] then isWhole = not isBeyond and tonumber(string.match(entries[1][1], '^%d+')) == after + 1 end
return {isWhole and 1 or 0, last, entries}`)

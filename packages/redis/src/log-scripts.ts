// The two steps of a log, in Lua. A log is one hash; an entry's field is its number. The others:
//   n last number       h oldest entry kept     f nothing above it is missing   b bytes of the texts
//   o owner             r reader                t ticket                        c claimed
//   x note              e has ended             j numbers that were left out: "from:next from:next ..."
//   t<token> its entry  s<slot> the token of one of the newest
import { type Script, script } from './scripts.ts'

/** Entries by whose tokens a repeat is known, at most. */
const TOKENS_MAX = 1024

/** Numbers that were left out, as a list of {first missing, next there}. */
const JUMPS = `
local function jumpsOf(text)
  local jumps = {}
  if not text then return jumps end
  for from, to in string.gmatch(text, '(%d+):(%d+)') do
    jumps[#jumps + 1] = {tonumber(from), tonumber(to)}
  end
  return jumps
end
local function here(n, jumps)
  for _, jump in ipairs(jumps) do
    if n >= jump[1] and n < jump[2] then return jump[2] end
  end
  return n
end
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`

/**
 * KEYS: log, guard. ARGV: ttl, most entries, most bytes, first, above, token, owner, reader, end, needReader, texts.
 * Gives: state, last, reader, owner.
 */
export const APPEND: Script = script(`${JUMPS}
local key, guard = KEYS[1], KEYS[2]
if guard and redis.call('EXISTS', guard) == 0 then return {'gone', 0} end
local first, above, token = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local ends = ARGV[9] == '1'
local count = #ARGV - 10
local m = redis.call('HMGET', key, 'n', 'h', 'f', 'b', 'e', 'r', 'o', 'j', 't' .. token)
local last, head, floor, bytes = tonumber(m[1]), tonumber(m[2]), tonumber(m[3]) or 0, tonumber(m[4]) or 0
local ended, reader, owner = m[5], m[6], m[7]

local done = false
if last then
  if token ~= '' then
    done = m[9]
  elseif ended and ends and first and head and count > 0 and last == first + count - 1 then
    done = redis.call('HGET', key, last) == ARGV[#ARGV]
  end
end
if not done then
  if ended then return {'ended', last, reader, owner} end
  if ARGV[10] == '1' and not reader then return {'noReader', last or 0, reader, owner} end
  local set = {}
  local function put(field, value)
    set[#set + 1] = field
    set[#set + 1] = value
  end
  if not last then
    if first then
      last = first - 1
      floor = last
    else
      last = clock() - 1
    end
    if ARGV[7] ~= '' then
      owner = ARGV[7]
      put('o', owner)
    end
    if ARGV[8] ~= '' then
      reader = ARGV[8]
      put('r', reader)
    end
  end
  local jumps = jumpsOf(m[8])
  local base = last
  if first and (not head or (count > 0 and first > last + 1)) then
    base = first - 1
    floor = base
    if not head then last = base end
  end
  local skip = first and math.max(0, base + 1 - first) or 0
  if above and above > base then base = above end
  local gone = {}
  if count > skip then
    if not head then
      head = base + 1
    elseif base > last then
      jumps[#jumps + 1] = {last + 1, base + 1}
    end
    local new = base + count - skip
    for i = skip + 1, count do bytes = bytes + #ARGV[10 + i] end
    local kept = new - head + 1
    for _, jump in ipairs(jumps) do kept = kept - (jump[2] - jump[1]) end
    local most, mostBytes = tonumber(ARGV[2]), tonumber(ARGV[3])
    while kept > 1 and (kept > most or bytes > mostBytes) do
      if head <= last then
        bytes = bytes - redis.call('HSTRLEN', key, head)
        gone[#gone + 1] = head
      else
        bytes = bytes - #ARGV[10 + skip + head - base]
      end
      if head > floor then floor = head end
      head = here(head + 1, jumps)
      kept = kept - 1
    end
    for n = math.max(base + 1, head), new do
      put(n, ARGV[10 + skip + n - base])
      if #set > 1000 then
        redis.call('HSET', key, unpack(set))
        set = {}
      end
    end
    if token ~= '' then
      -- As many as entries are kept, 64 at least. Fewer would forget the token of a writer that was cut off for a moment
      -- while others wrote on.
      local slot = 's' .. (new % math.min(math.max(64, most), ${TOKENS_MAX}))
      local old = redis.call('HGET', key, slot)
      if old then gone[#gone + 1] = 't' .. old end
      put('t' .. token, new)
      put(slot, token)
    end
    put('h', head)
    put('b', bytes)
    last = new
    if #jumps > 0 then
      local text = ''
      for _, jump in ipairs(jumps) do
        if jump[2] > head then text = text .. string.format('%.0f:%.0f ', jump[1], jump[2]) end
      end
      put('j', text)
    end
  end
  put('n', last)
  if ends then put('e', '1') end
  if floor ~= (tonumber(m[3]) or 0) then put('f', floor) end
  redis.call('HSET', key, unpack(set))
  for start = 1, #gone, 1000 do redis.call('HDEL', key, unpack(gone, start, math.min(start + 999, #gone))) end
end
redis.call('PEXPIRE', key, ARGV[1])
return {'ok', last, reader, owner}`)

/**
 * KEYS: log, guard. ARGV: take, reader, ticket, after, note ('=' in front of one), max, ttl.
 * Gives: state, oldest, last, ended, ticket, owner, previous, note, then number and text of each entry.
 */
export const READ: Script = script(`${JUMPS}
local key, guard = KEYS[1], KEYS[2]
if guard and redis.call('EXISTS', guard) == 0 then return {'gone'} end
local take, reader, note = ARGV[1], ARGV[2], ARGV[5]
local m = redis.call('HMGET', key, 'n', 'h', 'f', 'e', 'r', 'o', 't', 'c', 'x', 'j')
if not m[1] then return {'unknown'} end
local last, head, floor = tonumber(m[1]), tonumber(m[2]), tonumber(m[3]) or 0
local previous = m[5]
local ticket, claimed = tonumber(m[7]) or 0, tonumber(m[8]) or 0
local set = {}
local function put(field, value)
  set[#set + 1] = field
  set[#set + 1] = value
end
if take == 'attach' then
  ticket = math.max(clock(), ticket + 1)
  put('t', ticket)
  put('r', reader)
else
  local asked = tonumber(ARGV[3]) or ticket
  local holds = asked > ticket or (asked == ticket and (previous == reader or (take == 'leave' and not previous)))
  if not holds then return {'replaced', floor + 1, last, m[4], ticket, m[6]} end
  if asked ~= ticket then
    ticket = asked
    put('t', ticket)
  end
  if take == 'leave' then
    if previous then redis.call('HDEL', key, 'r') end
  elseif previous ~= reader then
    put('r', reader)
  end
end
if note ~= '' then put('x', string.sub(note, 2)) end

local numbers = {}
if take ~= 'leave' and head then
  local jumps = jumpsOf(m[10])
  local max = tonumber(ARGV[6])
  local n = here(math.max((tonumber(ARGV[4]) or claimed) + 1, head), jumps)
  while n <= last and #numbers < max do
    numbers[#numbers + 1] = n
    n = here(n + 1, jumps)
  end
  local newest = numbers[#numbers]
  if newest and newest > claimed then put('c', newest) end
end
if #set > 0 then redis.call('HSET', key, unpack(set)) end
if ARGV[7] ~= '' then redis.call('PEXPIRE', key, ARGV[7]) end

local reply = {'ok', floor + 1, last, m[4], ticket, m[6], take == 'attach' and previous, m[9]}
for start = 1, #numbers, 1000 do
  local stop = math.min(start + 999, #numbers)
  local texts = redis.call('HMGET', key, unpack(numbers, start, stop))
  for i = start, stop do
    reply[#reply + 1] = numbers[i]
    reply[#reply + 1] = texts[i - start + 1]
  end
end
return reply`)

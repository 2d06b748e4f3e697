//! What runs in the server: Lua, one step each, seen whole or not at all.
//!
//! Every script has the marker as its only `KEYS` entry and the braced prefix as `ARGV[1]`; all keys
//! share the braces, so they share a slot. A script that writes looks first: the server can refuse the
//! first write only, for want of memory, and no later one.

use redis::Script;

/// The scripts, with their digests.
pub(super) struct Scripts {
    pub apply: Script,
    pub fetch: Script,
    pub stage: Script,
    pub piece: Script,
    pub list: Script,
    pub condemned: Script,
    pub collect: Script,
    pub sweep: Script,
    pub set_aside: Script,
    pub recount: Script,
    pub totals: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            apply: Script::new(APPLY),
            fetch: Script::new(FETCH),
            stage: Script::new(STAGE),
            piece: Script::new(PIECE),
            list: Script::new(LIST),
            condemned: Script::new(CONDEMNED),
            collect: Script::new(COLLECT),
            sweep: Script::new(SWEEP),
            set_aside: Script::new(SET_ASIDE),
            recount: Script::new(RECOUNT),
            totals: Script::new(TOTALS),
        }
    }
}

/// `ARGV`: prefix, answer's key, number, count of objects; for each object its record and its bytes;
/// then texts of changes, five fields each behind which a NUL stands.
///
/// The answer is kept under its key until the next one: who asks again with the same number, because
/// the answer was lost, gets it and changes nothing. A lower number comes too late.
const APPLY: &str = r"
local P, slot, number, count = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local call = redis.call
local done = call('GET', slot)
if done then
  local last, answer = string.match(done, '^(%d+) (.*)$')
  if tonumber(last) == number then return {'ok', answer} end
  if tonumber(last) > number then return {'late'} end
end
if call('EXISTS', KEYS[1]) == 0 then return {'gone'} end
local clock = call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])

local objects, new, created = {}, {}, {}
for i = 1, count do
  local hex, replace, stage, stored, parts, rest =
    string.match(ARGV[3 + 2 * i], '^(%x+) (%d) (%S+) (%d+) (%d+) (.*)$')
  local have = call('HGET', P .. ':m', hex)
  local make = not new[hex] and (not have or replace == '1')
  if make and stage ~= '-' then
    local size = call('STRLEN', P .. ':s:' .. stage)
    for n = 1, parts - 1 do size = size + call('STRLEN', P .. ':s:' .. stage .. ':' .. n) end
    if size ~= tonumber(stored) then return {'lost', hex} end
  end
  if make then new[hex] = true end
  created[i] = make and '1' or '0'
  objects[i] = {hex, make, have, stage, tonumber(parts), stored .. ' ' .. now .. ' ' .. parts .. ' ' .. rest}
end

local current, last, order, delta, before, sets = {}, {}, {}, {}, {}, count > 0
for g = 5 + 2 * count, #ARGV do
  for ns, key, hex, codec, expect in string.gmatch(ARGV[g], '(%Z+)%z(%Z+)%z(%Z*)%z(%Z*)%z(%Z*)%z') do
    local id = ns .. '\0' .. key
    local is = current[id]
    if is == nil then
      local record = call('HGET', P .. ':k:' .. ns, key)
      is = record and string.match(record, '^%x+') or ''
      order[#order + 1] = id
    end
    before[#before + 1] = is
    if (expect == '-' and is ~= '') or (expect ~= '' and expect ~= '-' and expect ~= is) then
      return {'conflict', ns, key}
    end
    if hex ~= '' then
      sets = true
      if not new[hex] and call('HEXISTS', P .. ':m', hex) == 0 then return {'missing', hex, ns, key} end
      delta[hex] = (delta[hex] or 0) + 1
    end
    if is ~= '' then delta[is] = (delta[is] or 0) - 1 end
    current[id] = hex
    last[id] = {ns, key, hex, codec}
  end
end
call('ZCARD', P .. ':ns')
call('HLEN', P .. ':refs')
call('ZCARD', P .. ':ol')
call('ZCARD', P .. ':unref')

if sets then call('INCR', P .. ':seq') end
for i = 1, count do
  local hex, make, have, stage, parts, record = unpack(objects[i])
  if make then
    local name, from = P .. ':o:' .. hex, P .. ':s:' .. stage
    if have then
      local old = tonumber(string.match(have, '^%d+ %d+ (%d+) '))
      for n = parts, old - 1 do call('UNLINK', name .. ':' .. n) end
    end
    if stage == '-' then
      call('SET', name, ARGV[4 + 2 * i])
    else
      call('RENAME', from, name)
      call('PERSIST', name)
      for n = 1, parts - 1 do
        call('RENAME', from .. ':' .. n, name .. ':' .. n)
        call('PERSIST', name .. ':' .. n)
      end
      call('ZREM', P .. ':staging', stage)
    end
    call('HSET', P .. ':m', hex, record)
    call('ZADD', P .. ':ol', 0, hex)
  end
  if not delta[hex] then delta[hex] = 0 end
end
for _, id in ipairs(order) do
  local ns, key, hex, codec = unpack(last[id])
  if hex == '' then
    call('HDEL', P .. ':k:' .. ns, key)
    if call('ZREM', P .. ':l:' .. ns, key) == 1 and call('EXISTS', P .. ':l:' .. ns) == 0 then
      call('ZREM', P .. ':ns', ns)
    end
  else
    call('HSET', P .. ':k:' .. ns, key, hex .. ' ' .. now .. ' ' .. codec)
    call('ZADD', P .. ':l:' .. ns, 0, key)
    call('ZADD', P .. ':ns', 0, ns)
  end
end
for hex, change in pairs(delta) do
  if call('HEXISTS', P .. ':m', hex) == 1 then
    local refs = call('HINCRBY', P .. ':refs', hex, change)
    if refs < 0 then call('HSET', P .. ':refs', hex, 0) end
    if refs <= 0 then call('ZADD', P .. ':unref', now, hex) else call('ZREM', P .. ':unref', hex) end
  end
end
if not sets then call('INCR', P .. ':seq') end
local answer = table.concat(created) .. '\0' .. table.concat(before, '\0')
call('SET', slot, ARGV[3] .. ' ' .. answer, 'EX', 3600)
return {'ok', answer}
";

/// `ARGV`: prefix, most bytes of a body, most of all bodies, then namespaces and keys by turns. For
/// each: nothing, or the key's record, the object's, and its bytes; 0 where they are too many.
const FETCH: &str = r"
local P, most, left = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local call, out = redis.call, {}
for i = 4, #ARGV, 2 do
  local record = call('HGET', P .. ':k:' .. ARGV[i], ARGV[i + 1])
  local at = #out + 1
  if not record then
    out[at] = false
  else
    local hex = string.match(record, '^%x+')
    local meta = hex and call('HGET', P .. ':m', hex)
    local body = 0
    local stored = meta and tonumber(string.match(meta, '^%d+'))
    if stored and stored <= most and stored <= left then
      body = call('GET', P .. ':o:' .. hex)
      left = left - stored
    end
    out[at] = {record, meta, body}
  end
end
return out
";

/// `ARGV`: prefix, name, part's key, offset in it, seconds to live, bytes.
const STAGE: &str = r"
local clock = redis.call('TIME')
redis.call('SETRANGE', ARGV[3], ARGV[4], ARGV[6])
redis.call('EXPIRE', ARGV[3], ARGV[5])
redis.call('ZADD', ARGV[1] .. ':staging', string.format('%.0f', clock[1] * 1000000 + clock[2]), ARGV[2])
return 1
";

/// `ARGV`: prefix, hash, record as it was, part's key, first byte, last byte; nothing if the object is
/// another one by now.
const PIECE: &str = r"
if redis.call('HGET', ARGV[1] .. ':m', ARGV[2]) ~= ARGV[3] then return false end
return redis.call('GETRANGE', ARGV[4], ARGV[5], ARGV[6])
";

/// `ARGV`: prefix, namespace, lowest, highest, limit: names and records by turns.
const LIST: &str = r"
local names = redis.call('ZRANGEBYLEX', ARGV[1] .. ':l:' .. ARGV[2], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])
if #names == 0 then return {} end
local records, out = redis.call('HMGET', ARGV[1] .. ':k:' .. ARGV[2], unpack(names)), {}
for i, name in ipairs(names) do
  out[2 * i - 1] = name
  out[2 * i] = records[i] or ''
end
return out
";

/// `ARGV`: prefix, grace in microseconds, offset, limit. How many have no name, the number that may go,
/// the time of the first that may not, then stored bytes of some that may.
const CONDEMNED: &str = r"
local P, call = ARGV[1], redis.call
local clock = call('TIME')
local limit = string.format('%.0f', clock[1] * 1000000 + clock[2] - tonumber(ARGV[2]))
local ripe = call('ZRANGEBYSCORE', P .. ':unref', '-inf', limit, 'LIMIT', ARGV[3], ARGV[4])
local green = call('ZRANGEBYSCORE', P .. ':unref', '(' .. limit, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local bytes = 0
for _, hex in ipairs(ripe) do
  local meta = call('HGET', P .. ':m', hex)
  bytes = bytes + (meta and tonumber(string.match(meta, '^%d+')) or 0)
end
return {call('ZCARD', P .. ':unref'), #ripe, bytes, green[2] and string.format('%.0f', tonumber(green[2])) or ''}
";

/// `ARGV`: prefix, grace in microseconds, limit. Deletes some; how many and their stored bytes.
const COLLECT: &str = r"
local P, call = ARGV[1], redis.call
local clock = call('TIME')
local limit = string.format('%.0f', clock[1] * 1000000 + clock[2] - tonumber(ARGV[2]))
local bytes, deleted = 0, 0
local ripe = call('ZRANGEBYSCORE', P .. ':unref', '-inf', limit, 'LIMIT', 0, ARGV[3])
for _, hex in ipairs(ripe) do
  call('ZREM', P .. ':unref', hex)
  if tonumber(call('HGET', P .. ':refs', hex) or '0') <= 0 then
    local meta = call('HGET', P .. ':m', hex)
    local stored, parts = string.match(meta or '0 0 1 ', '^(%d+) %d+ (%d+) ')
    call('UNLINK', P .. ':o:' .. hex)
    for n = 1, parts - 1 do call('UNLINK', P .. ':o:' .. hex .. ':' .. n) end
    call('HDEL', P .. ':m', hex)
    call('HDEL', P .. ':refs', hex)
    call('ZREM', P .. ':ol', hex)
    bytes, deleted = bytes + stored, deleted + 1
  end
end
if #ripe > 0 then call('INCR', P .. ':seq') end
return {#ripe, deleted, bytes}
";

/// `ARGV`: prefix, grace in microseconds. Removes parts whose writer wrote nothing for so long.
const SWEEP: &str = r"
local P, call = ARGV[1], redis.call
local clock = call('TIME')
local limit = string.format('%.0f', clock[1] * 1000000 + clock[2] - tonumber(ARGV[2]))
local swept = call('ZRANGEBYSCORE', P .. ':staging', '-inf', limit, 'LIMIT', 0, 500)
for _, name in ipairs(swept) do
  call('UNLINK', P .. ':s:' .. name)
  local n = 1
  while call('UNLINK', P .. ':s:' .. name .. ':' .. n) == 1 do n = n + 1 end
  call('ZREM', P .. ':staging', name)
end
return #swept
";

/// `ARGV`: prefix, hash, whether to delete for good. Takes an object out of the store.
const SET_ASIDE: &str = r"
local P, hex, call = ARGV[1], ARGV[2], redis.call
local meta = call('HGET', P .. ':m', hex)
if not meta then return 0 end
local parts = tonumber(string.match(meta, '^%d+ %d+ (%d+) ') or '1')
for n = 0, parts - 1 do
  local part = n == 0 and '' or ':' .. n
  if ARGV[3] == '1' then
    call('UNLINK', P .. ':o:' .. hex .. part)
  elseif call('EXISTS', P .. ':o:' .. hex .. part) == 1 then
    call('RENAME', P .. ':o:' .. hex .. part, P .. ':q:' .. hex .. part)
  end
end
if ARGV[3] ~= '1' then call('HSET', P .. ':q', hex, meta) end
call('HDEL', P .. ':m', hex)
call('HDEL', P .. ':refs', hex)
call('ZREM', P .. ':ol', hex)
call('ZREM', P .. ':unref', hex)
call('INCR', P .. ':seq')
return 1
";

/// `ARGV`: prefix. Counts all names of all objects anew, in one step: repair only. How many were wrong.
const RECOUNT: &str = r"
local P, call = ARGV[1], redis.call
local clock = call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])
local counts, wrong = {}, 0
for _, ns in ipairs(call('ZRANGE', P .. ':ns', 0, -1)) do
  local cursor = '0'
  local seen = {}
  repeat
    local page = call('HSCAN', P .. ':k:' .. ns, cursor, 'COUNT', 1000)
    cursor = page[1]
    for i = 1, #page[2], 2 do
      local key, hex = page[2][i], string.match(page[2][i + 1], '^%x+')
      if hex and not seen[key] then
        seen[key] = true
        counts[hex] = (counts[hex] or 0) + 1
      end
    end
  until cursor == '0'
end
for _, hex in ipairs(call('ZRANGE', P .. ':ol', 0, -1)) do
  local is, should = tonumber(call('HGET', P .. ':refs', hex) or '-1'), counts[hex] or 0
  local waits = call('ZSCORE', P .. ':unref', hex)
  if is ~= should or (should == 0) ~= (waits and true or false) then
    wrong = wrong + 1
    call('HSET', P .. ':refs', hex, should)
    if should == 0 then
      if not waits then call('ZADD', P .. ':unref', now, hex) end
    else
      call('ZREM', P .. ':unref', hex)
    end
  end
end
return wrong
";

/// `ARGV`: prefix. Keys, namespaces, objects, objects without a name.
const TOTALS: &str = r"
local P, call, keys = ARGV[1], redis.call, 0
local names = call('ZRANGE', P .. ':ns', 0, -1)
for _, ns in ipairs(names) do keys = keys + call('ZCARD', P .. ':l:' .. ns) end
return {keys, #names, call('ZCARD', P .. ':ol'), call('ZCARD', P .. ':unref')}
";

-- Writes back to one shard what one sender has written and the shard may have forgotten: where the record there is absent or older.
--
-- KEYS[1]       versions of this shard, as in swap.lua
-- KEYS[2]       its open records
-- KEYS[2 + i]   a record
--
-- ARGV[1]       the last version that the sender knows of this shard, 8 bytes
-- ARGV[2i]      w was written, o was written and filed as open, d was deleted; until when it is kept, in ms since 1970, decimal, 0: for ever
-- ARGV[2i + 1]  the record as it is stored; of a deleted one its version
--
-- Reply: how many records were behind. A record that has been deleted is deleted in that version only. Repeating all this is harmless.

local call, sub, unpack = redis.call, string.sub, struct.unpack

local time = call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local last = call('GET', KEYS[1])
if not last or unpack('>I8', last) < unpack('>I8', ARGV[1]) then
  call('SET', KEYS[1], ARGV[1])
end

local behind = 0
for i = 1, #KEYS - 2 do
  local key, head, record = KEYS[2 + i], ARGV[2 * i], ARGV[2 * i + 1]
  local version = unpack('>I8', record)
  local is = call('GET', key)
  local there = is and unpack('>I8', is) or 0
  local _, brace = string.find(key, '}:', 1, true)
  local name = sub(key, brace + 1)
  local what, till = sub(head, 1, 1), tonumber(sub(head, 2))
  local over = till > 0 and till <= now
  if what == 'd' or over then
    if is and (there < version or there == version and what == 'd') then
      behind = behind + 1
      call('ZREM', KEYS[2], name)
      call('DEL', key)
    end
  elseif there < version then
    behind = behind + 1
    if what == 'o' then
      call('ZADD', KEYS[2], till > 0 and string.format('%.0f', till) or '+inf', name)
    else
      call('ZREM', KEYS[2], name)
    end
    if till > 0 then
      call('SET', key, record, 'PX', string.format('%.0f', till - now))
    else
      call('SET', key, record)
    end
  end
end
return behind

-- One swap: every change is made if every record has the version that its change wants, else none is.
--
-- A first line is put before this text: local served, ask = '<identities of the primaries>', <whether to ask>. So the script's name names
-- the primaries that the sender has looked at, and a primary that it has not looked at does not know the script: NOSCRIPT. A Redis that
-- hands scripts to its replicas (before 7.0) is asked who it is.
--
-- KEYS[1]       versions of this shard: the last one given, 8 bytes; kept for ever
-- KEYS[2]       open records of this shard: a sorted set of partition:name by time of expiry in ms; +inf: never
-- KEYS[2 + i]   the record of change i: version, time of writing in us, stamp of the writer (8 bytes each), value
--
-- ARGV[1]       stamp of this swap, 8 bytes; the last version that the sender knows of this shard, 8 bytes
-- ARGV[2i]      change i: l look, w write, o write and file as open, d delete; the version wanted, 8 bytes, zeros: absent;
--               for how many ms to keep what is written, in decimal, 0: for ever
-- ARGV[2i + 1]  the value to write
--
-- Reply: one string. A applied, S applied before (its own stamp is on every record it would have written), N not applied;
-- the time in us, 8 bytes; the version given or found, 8 bytes, zeros: none;
-- then records, each as its length in 4 bytes, 0: absent, and what is stored: of A those looked at, of S and N all.
--
-- Errors of its own: FORGOT, the shard is behind what the sender knows; NOSCRIPT, see above.
--
-- All integers are big-endian. Values pass through unread. Whatever can fail (a key of another type, no memory, a replica) fails
-- before the first record is written.

if #KEYS == 0 then return end -- sent only to be remembered

local call, sub, pack = redis.call, string.sub, struct.pack

local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local changes = #KEYS - 2
local absent = '\0\0\0\0\0\0\0\0'
local stamp = sub(ARGV[1], 1, 8)

if ask and not string.find(served, string.match(call('INFO', 'replication'), 'master_replid:(%x+)'), 1, true) then
  return redis.error_reply('NOSCRIPT another primary')
end
local last = call('GET', KEYS[1])
last = last and struct.unpack('>I8', last) or 0 -- as numbers: Redis compares strings by the locale
if last < struct.unpack('>I8', ARGV[1], 9) then
  return redis.error_reply('FORGOT the dataset is older than what was seen of it')
end

local there, fits, writes, mine, version = {}, true, false, true, absent
for i = 1, changes do
  local head = ARGV[2 * i]
  local record = call('GET', KEYS[2 + i])
  there[i] = record
  local what = sub(head, 1, 1)
  if what ~= 'l' then
    local is = record and sub(record, 1, 8) or absent
    fits = fits and is == sub(head, 2, 9)
    if what ~= 'd' then
      writes = true
      version = is
      mine = mine and record and sub(record, 17, 24) == stamp
    end
  end
end

local function show(reply, record)
  reply[#reply + 1] = pack('>I4', record and #record or 0)
  reply[#reply + 1] = record or nil
end

local at = pack('>I8', now)

if not fits then
  local before = writes and mine
  local reply = {before and 'S' or 'N', at, before and version or absent}
  for i = 1, changes do show(reply, there[i]) end
  return table.concat(reply)
end

for i = 1, changes do
  local what = sub(ARGV[2 * i], 1, 1)
  if what ~= 'l' then
    local _, brace = string.find(KEYS[2 + i], '}:', 1, true)
    local name = sub(KEYS[2 + i], brace + 1)
    if what == 'o' then
      local keep = tonumber(sub(ARGV[2 * i], 10))
      if keep > 0 then
        call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.0f', now / 1000))
      end
      call('ZADD', KEYS[2], keep > 0 and string.format('%.0f', now / 1000 + keep) or '+inf', name)
    else
      call('ZREM', KEYS[2], name)
    end
  end
end

-- The version is the time, unless the clock went back or two writes meet in a microsecond.
version = absent
if writes then
  version = last >= now and pack('>I8', last + 1) or at
  call('SET', KEYS[1], version)
end

local reply = {'A', at, version}
for i = 1, changes do
  local head = ARGV[2 * i]
  local what = sub(head, 1, 1)
  if what == 'l' then
    show(reply, there[i])
  elseif what == 'd' then
    call('DEL', KEYS[2 + i])
  else
    local keep = sub(head, 10)
    local record = version .. at .. stamp .. ARGV[2 * i + 1]
    if keep == '0' then
      call('SET', KEYS[2 + i], record)
    else
      call('SET', KEYS[2 + i], record, 'PX', keep)
    end
  end
end
return table.concat(reply)

-- Counts of what each thread did, kept where all threads and the report see them.
--
-- sysbench counts its threads together. Where they do different things (one inserts, another
-- queries), every kind of work is counted here by itself, with its own response times. What a
-- warm-up does is counted only if it calls `record`, and no more after `restart`.

local ffi = require("ffi")

local tally = {}

-- The buckets of sysbench's own histogram (src/sb_logger.c): equally wide in the logarithm,
-- centres from 0.001 to 100000 ms.
local BUCKETS = 1024
local FIRST_MS, LAST_MS = 1e-3, 1e5
local LOG_STEP = math.log(LAST_MS / FIRST_MS) / (BUCKETS - 1)

-- Each thread has a state of Lua of its own; they find the memory by its address, in here.
local ADDRESS = "NIGHTSHIFT_TALLY"

ffi.cdef [[
typedef struct {
   uint64_t ever, events, operations, errors;
   double sum_ms, max_ms, began, ended;
   uint64_t buckets[1024];
} nightshift_slot;
void *calloc(size_t count, size_t size);
int setenv(const char *name, const char *value, int overwrite);
]]

-- The kinds in order of their slots, their places by name, and the slots of all threads.
local names, places, slots

local function remember(kinds)
   names, places = kinds, {}
   for place, kind in ipairs(kinds) do
      places[kind] = place - 1
   end
   slots = ffi.cast("nightshift_slot *", tonumber(os.getenv(ADDRESS)))
end

local function slot(thread, kind)
   return slots[thread * #names + places[kind]]
end

-- To be called once, in init(): makes room for so many threads. `kinds` are names.
function tally.open(kinds, threads)
   local memory = ffi.C.calloc(#kinds * threads, ffi.sizeof("nightshift_slot"))
   if memory == nil then
      error("not enough memory for the counts of all threads", 0)
   end
   -- Below 2^47, so exact as a number.
   ffi.C.setenv(ADDRESS, ("%d"):format(tonumber(ffi.cast("uintptr_t", memory))), 1)
   remember(kinds)
end

-- To be called in thread_init(), and before a report: finds what `open` made.
function tally.attach(kinds)
   if not slots then
      remember(kinds)
   end
end

-- One event of a kind is over: it did so many operations (rows, statements) in `seconds`.
function tally.record(thread, kind, operations, seconds)
   local mine, ms = slot(thread, kind), seconds * 1000
   local bucket = math.floor(math.log(ms / FIRST_MS) / LOG_STEP + 0.5)
   bucket = math.max(0, math.min(BUCKETS - 1, bucket))
   mine.ever = mine.ever + operations
   mine.events = mine.events + 1
   mine.operations = mine.operations + operations
   mine.sum_ms = mine.sum_ms + ms
   mine.max_ms = math.max(mine.max_ms, ms)
   mine.buckets[bucket] = mine.buckets[bucket] + 1
end

-- An event of a kind that the server made the thread repeat.
function tally.fail(thread, kind)
   local mine = slot(thread, kind)
   mine.errors = mine.errors + 1
end

-- The warm-up of a thread is over: it counts from nothing, but for `ever`.
function tally.restart(thread)
   for _, kind in ipairs(names) do
      local mine = slot(thread, kind)
      local ever = mine.ever
      ffi.fill(mine, ffi.sizeof("nightshift_slot"))
      mine.ever = ever
   end
end

-- A thread's measured work began, or ended, at this time.
function tally.began(thread, at)
   slot(thread, names[1]).began = at
end

function tally.ended(thread, at)
   slot(thread, names[1]).ended = at
end

-- Seconds from the first thread's beginning to the last one's end. Unlike sysbench's own total
-- without the closing of connections, which for some DBMS is work.
function tally.elapsed()
   local first, last = math.huge, 0
   for thread = 0, sysbench.opt.threads - 1 do
      local one = slot(thread, names[1])
      first, last = math.min(first, one.began), math.max(last, one.ended)
   end
   return last - first
end

-- What a thread has done of a kind so far: events and operations. Any thread may ask.
function tally.done(thread, kind)
   local theirs = slot(thread, kind)
   return tonumber(theirs.events), tonumber(theirs.operations)
end

-- Operations of a kind that a thread has done since sysbench started. Any thread may ask.
function tally.ever(thread, kind)
   return tonumber(slot(thread, kind).ever)
end

local function line(format, ...)
   io.stdout:write(format:format(...) .. "\n")
end

local function sum(kind)
   local events, operations, errors, sum_ms, max_ms = 0, 0, 0, 0, 0
   for thread = 0, sysbench.opt.threads - 1 do
      local one = slot(thread, kind)
      events, operations = events + tonumber(one.events), operations + tonumber(one.operations)
      errors, sum_ms = errors + tonumber(one.errors), sum_ms + one.sum_ms
      max_ms = math.max(max_ms, one.max_ms)
   end
   return events, operations, errors, sum_ms, max_ms
end

-- Prints what was done until now, a line for each kind; `seconds` since the start.
function tally.interval(seconds)
   for _, kind in ipairs(names) do
      local events, operations, errors = sum(kind)
      line("nightshift tally t=%.6f kind=%s events=%d operations=%d errors=%d",
         seconds, kind, events, operations, errors)
   end
end

-- Prints the totals and response times of every kind.
function tally.total(seconds)
   for _, kind in ipairs(names) do
      local events, operations, errors, sum_ms, max_ms = sum(kind)
      line("nightshift tally-total seconds=%.6f kind=%s events=%d operations=%d errors=%d"
         .. " lat_sum_ms=%.6f lat_max_ms=%.6f", seconds, kind, events, operations, errors, sum_ms, max_ms)
      local held = {}
      for bucket = 0, BUCKETS - 1 do
         local count = 0
         for thread = 0, sysbench.opt.threads - 1 do
            count = count + tonumber(slot(thread, kind).buckets[bucket])
         end
         if count > 0 then
            held[#held + 1] = ("%d:%d"):format(bucket, count)
         end
      end
      line("nightshift tally-histogram kind=%s %s", kind, table.concat(held, " "))
   end
end

return tally

-- Warm-up: the step's own event, run before sysbench's clock starts.
--
-- thread_init is outside of sysbench's event and latency statistics, and no thread
-- passes the start barrier before all have finished it. So the measured seconds are
-- warm from their first event on, and a warm-up may be a fraction of a second.

local ffi = require("ffi")

local clock = require("clock")

local warmup = {}

ffi.cdef "unsigned int alarm(unsigned int seconds);"

-- sysbench gives up when threads need more than 30 s to initialise. Each second of
-- warm-up moves that limit this far ahead, so that it still catches a server that hangs.
local HANG_SECONDS = 600

-- Runs `event` for `seconds` (at least once if above zero). Events that the server
-- asks to repeat (deadlock, serialization failure) are repeated as sysbench does.
-- Returns events done, events repeated and the seconds it took.
function warmup.run(event, seconds)
   if seconds <= 0 then
      return 0, 0, 0
   end
   local now = clock.now
   local start = now()
   local finish, next_alarm = start + seconds, start
   local current, events, errors = start, 0, 0
   repeat
      if current >= next_alarm then
         ffi.C.alarm(HANG_SECONDS)
         next_alarm = current + 1
      end
      local ok, reason = pcall(event)
      if ok then
         events = events + 1
      elseif type(reason) == "table" and reason.errcode == sysbench.error.RESTART_EVENT then
         errors = errors + 1
      else
         error(reason, 0)
      end
      current = now()
   until current >= finish
   return events, errors, current - start
end

return warmup

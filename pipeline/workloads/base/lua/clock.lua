-- Time that only goes forward, with its fractions of a second.

local ffi = require("ffi")

ffi.cdef [[
typedef struct { long seconds; long nanoseconds; } nightshift_time;
int clock_gettime(int clock, nightshift_time *time);
int clock_nanosleep(int clock, int flags, const nightshift_time *time, nightshift_time *left);
]]

local CLOCK_MONOTONIC = 1
local TIMER_ABSTIME = 1

local clock = {}

local time = ffi.new("nightshift_time")

-- Seconds since some moment that stays the same.
function clock.now()
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return tonumber(time.seconds) + tonumber(time.nanoseconds) * 1e-9
end

-- Waits until `now` is `at`; not at all when that is over. A signal may end it earlier.
function clock.sleep_until(at)
   local seconds = math.floor(at)
   time.seconds = seconds
   time.nanoseconds = (at - seconds) * 1e9
   ffi.C.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, time, nil)
end

return clock

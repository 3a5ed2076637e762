-- Work at a fixed rate, by absolute times: what was late is made up for as fast as it goes, so
-- that a wait here and there costs nothing of the rate. But not all of it: after a stall the work
-- of the last second is, and the rest is missing from the rate.

local clock = require("clock")

local pace = {}

local MADE_UP_SECONDS = 1

-- The longest wait: in between, a thread sees that its time is over.
local SLICE_SECONDS = 0.05

local origin = 0

-- The first transaction is due at this time.
function pace.restart(at)
   origin = at
end

-- True if transaction `number`, counted from 0, is due, one every `interval` seconds. If not it
-- waits for that, but no longer than a slice, and returns false.
function pace.is_due(number, interval)
   local due, now = origin + number * interval, clock.now()
   if now < due then
      clock.sleep_until(math.min(due, now + SLICE_SECONDS))
      return false
   end
   origin = origin + math.max(0, now - due - MADE_UP_SECONDS)
   return true
end

return pace

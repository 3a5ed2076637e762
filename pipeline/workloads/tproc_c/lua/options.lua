-- The options of load.lua and tproc_c.lua: their declaration for sysbench, and their check.

local sql = require("sql")

local options = {}

options.DECLARED = sql.with_options {
   warehouses = { "Number of warehouses", 1 },
   customers = { "Customers of a district; as many orders are loaded", 3000 },
   items = { "Items, each in stock in every warehouse", 100000 },
   warmup = { "Seconds of ramp-up before the measurement; may be a fraction", 0 },
}

-- Items and warehouses are handed over in six digits (transactions.lua), and one item more is
-- asked for that does not exist. A district loads at least one order that is not delivered.
local LIMITS = { warehouses = { 1, 999999 }, customers = { 10, 100000 }, items = { 100, 999998 } }

-- Raises one line that says what to do.
function options.check()
   for name, limit in pairs(LIMITS) do
      local value, least, most = sysbench.opt[name], limit[1], limit[2]
      -- "nan" is read as a number, and no comparison but this one catches it.
      if not (value >= least and value <= most and value % 1 == 0) then
         error(("--%s is %s, must be a whole number from %d to %d"):format(name, value, least, most), 0)
      end
   end
   local seconds = sysbench.opt.warmup
   if seconds ~= seconds or seconds < 0 then
      error(("--warmup is %s, must be 0 or more seconds"):format(seconds), 0)
   end
end

return options

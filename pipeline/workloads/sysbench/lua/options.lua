-- The options of nightshift.lua: their declaration for sysbench, and their check.

local sql = require("sql")

local options = {}

options.DECLARED = sql.with_options {
   step = { "Step to run, for example point-query", "" },
   explain = { "Steps that explain prints the plans of, for example point-query_range=100,scan_range=100", "" },
   range = { "Scan length, in-list length or rows per transaction", 100 },
   tables = { "Number of tables", 1 },
   table_size = { "Rows per table", 10000 },
   warmup = { "Seconds that each thread runs the step before the measurement; may be a fraction", 0 },
   zipf_exponent = { "Exponent of the zipfian distribution of update-zipf", 0.99 },
   mysql_storage_engine = { "Storage engine of the tables, for the mysql driver", "innodb" },
}

-- ids and k are 32-bit integers.
local LARGEST_TABLE = 2147483647

local function flag(name)
   return "--" .. name:gsub("_", "-")
end

-- sysbench reads "nan" as a number, and no comparison catches it.
local function is_nan(value)
   return value ~= value
end

local function whole(name, largest)
   local value = sysbench.opt[name]
   if is_nan(value) or value < 1 or value > largest or value % 1 ~= 0 then
      error(("%s is %s, must be a whole number from 1 to %d"):format(flag(name), value, largest), 0)
   end
end

-- Checks what loading and running have in common. Raises one line that says what to do.
function options.check_tables()
   whole("tables", 10000)
   whole("table_size", LARGEST_TABLE)
end

-- Checks what only a run needs. `known` holds the names of all steps.
function options.check_run(known)
   options.check_tables()
   whole("range", 1000000)
   local seconds, exponent = sysbench.opt.warmup, sysbench.opt.zipf_exponent
   if is_nan(seconds) or seconds < 0 then
      error(("--warmup is %s, must be 0 or more seconds"):format(seconds), 0)
   end
   if is_nan(exponent) or exponent <= 0 then
      error(("--zipf-exponent is %s, must be above 0"):format(exponent), 0)
   end
   local names = {}
   for name in pairs(known) do
      names[#names + 1] = name
   end
   table.sort(names)
   if not known[sysbench.opt.step] then
      error(("unknown --step '%s'; known are: %s"):format(sysbench.opt.step, table.concat(names, ", ")), 0)
   end
end

-- The step and the range of a name as of reports, "point-query_range=100". Raises one line.
function options.named_step(name, known)
   local step, range = name:match("^(.+)_range=(%d+)$")
   if not known[step] then
      error(("--explain has no step '%s'"):format(name), 0)
   end
   return step, tonumber(range)
end

return options

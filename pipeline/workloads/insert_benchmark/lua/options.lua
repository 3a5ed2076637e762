-- The options of insert_benchmark.lua: their declaration for sysbench, and their check.

local kinds = require("kinds")
local sql = require("sql")

local options = {}

options.DECLARED = sql.with_options {
   step = { "Step to run, for example qr100", "" },
   explain = { "Steps that explain prints the plans of, for example l.i1,qr100", "" },
   clients = { "Number of clients, each with a table of its own", 1 },
   rows = { "Rows that a client inserts in a step that loads", 1000 },
   rows_per_commit = { "Rows of one transaction", 100 },
   rows_per_second = { "Rows that a client inserts, and deletes, in a second beside its queries", 100 },
   warmup = { "Seconds that each thread works before a step of queries; may be a fraction", 0 },
   mysql_storage_engine = { "Storage engine of the tables, for the mysql driver", "innodb" },
}

-- A statement of the load has six values a row, and SQLite before 3.32 takes no more than 999.
local MOST_ROWS_PER_COMMIT = 150

local function whole(name, largest)
   local value = sysbench.opt[name]
   -- sysbench reads "nan" as a number, and no comparison with it is true.
   if not (value >= 1 and value <= largest and value % 1 == 0) then
      error(("--%s is %s, must be a whole number from 1 to %d"):format(name:gsub("_", "-"), value, largest), 0)
   end
   return value
end

-- The number of clients. Raises one line that says what to do.
function options.clients()
   return whole("clients", 10000)
end

-- Checks what a run needs. Raises one line that says what to do.
function options.check_run()
   local threads = options.clients() * #kinds.of(sysbench.opt.step)
   if sysbench.opt.threads ~= threads then
      error(("%s takes --threads=%d"):format(sysbench.opt.step, threads), 0)
   end
   whole("rows", 2 ^ 31 - 1)
   whole("rows_per_commit", MOST_ROWS_PER_COMMIT)
   whole("rows_per_second", 1000000)
   local seconds = sysbench.opt.warmup
   if seconds ~= seconds or seconds < 0 then
      error(("--warmup is %s, must be 0 or more seconds"):format(seconds), 0)
   end
end

return options

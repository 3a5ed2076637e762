-- tproc-c on the database that load.lua made, run by sysbench 1.0.20:
--
--   sysbench tproc_c.lua --warehouses=4 --threads=4 --warmup=1 --time=10 run
--   sysbench tproc_c.lua --warehouses=4 explain
--
-- Threads are virtual users. After the last has ended, the consistency conditions are checked.

local HERE = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = HERE .. "?.lua;" .. HERE .. "../../base/lua/?.lua;" .. package.path

local clock = require("clock")
local consistency = require("consistency")
local explain = require("explain")
local options = require("options")
local plans = require("plans")
local random = require("random")
local report = require("report")
local sql = require("sql")
local tally = require("tally")
local transactions = require("transactions")
local warmup = require("warmup")

sysbench.cmdline.options = options.DECLARED
sysbench.cmdline.commands = {
   explain = {
      function()
         options.check()
         random.seed(random.MEASURE, 0, "tproc-c")
         explain.steps(sql.connect(), "tproc-c", function(connecting)
            return function()
               plans.execute(connecting, sysbench.opt)
            end
         end)
      end,
   },
}

sysbench.hooks.report_intermediate = function(stat)
   tally.attach(transactions.KINDS)
   tally.interval(stat.time_total)
end

sysbench.hooks.report_cumulative = function(stat)
   tally.attach(transactions.KINDS)
   tally.total(stat.time_total)
end

local connection, transaction

function init()
   options.check()
   tally.open(transactions.KINDS, sysbench.opt.threads)
end

function thread_init()
   tally.attach(transactions.KINDS)
   connection = sql.connect()
   transaction = transactions.virtual_user(connection, sysbench.opt)
   random.seed(random.WARMUP, sysbench.tid, "tproc-c")
   report.warmup(sysbench.tid, warmup.run(transaction, sysbench.opt.warmup))
   random.seed(random.MEASURE, sysbench.tid, "tproc-c")
end

function event()
   local began = clock.now()
   local kind, repeated = transaction()
   for _ = 1, repeated do
      tally.fail(sysbench.tid, kind)
   end
   tally.record(sysbench.tid, kind, 1, clock.now() - began)
end

function thread_done()
   connection:close()
end

-- sysbench does not look at how this ends, so a failure ends the process.
function done()
   local ok, result = pcall(function()
      local checking = sql.connect()
      local conditions = consistency.check(checking)
      checking:close()
      return conditions
   end)
   if not ok then
      io.stderr:write("FATAL: " .. tostring(result) .. "\n")
      os.exit(1)
   end
   print(("nightshift consistent conditions=%d"):format(result))
end

-- The sysbench microbenchmarks, run by sysbench 1.0.20:
--
--   sysbench nightshift.lua --tables=1 --table-size=50000 prepare
--   sysbench nightshift.lua --step=point-query --warmup=0.5 --time=10 run
--   sysbench nightshift.lua --explain=point-query_range=100,scan_range=100 explain
--   sysbench nightshift.lua cleanup

local HERE = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = HERE .. "?.lua;" .. HERE .. "../../base/lua/?.lua;" .. package.path

local client = require("client")
local explain = require("explain")
local options = require("options")
local random = require("random")
local report = require("report")
local schema = require("schema")
local sql = require("sql")
local warmup = require("warmup")

local STEPS = {}
for _, group in ipairs({ "point", "range", "aggregate", "write" }) do
   for name, build in pairs(require("steps." .. group)) do
      STEPS[name] = build
   end
end

-- Runs `work` on a connection for every table that falls to this thread. sysbench
-- ignores how the threads of a parallel command end, so a failure ends the process.
local function for_each_table(work)
   local ok, reason = pcall(function()
      options.check_tables()
      local threads = sysbench.opt.threads
      local connection = sql.connect()
      for number = sysbench.tid % threads + 1, sysbench.opt.tables, threads do
         work(connection, number)
      end
      connection:close()
   end)
   if not ok then
      io.stderr:write("FATAL: " .. tostring(reason) .. "\n")
      os.exit(1)
   end
end

sysbench.cmdline.options = options.DECLARED
sysbench.cmdline.commands = {
   prepare = {
      function()
         for_each_table(function(connection, number)
            schema.load(connection, number, sysbench.opt.table_size)
         end)
      end,
      sysbench.cmdline.PARALLEL_COMMAND,
   },
   explain = {
      function()
         options.check_tables()
         explain.steps(sql.connect(), sysbench.opt.explain, function(connection, name)
            local step, range = options.named_step(name, STEPS)
            local owner = client.new(connection, sysbench.opt)
            owner.range = range
            random.seed(random.MEASURE, 0, name)
            return STEPS[step](owner)
         end)
      end,
   },
   cleanup = {
      function()
         for_each_table(schema.drop)
      end,
   },
}

sysbench.hooks.report_intermediate = report.interval
sysbench.hooks.report_cumulative = report.total

local connection, run_step

function init()
   options.check_run(STEPS)
end

function thread_init()
   connection = sql.connect()
   run_step = STEPS[sysbench.opt.step](client.new(connection, sysbench.opt))
   local label = sysbench.opt.step .. "_range=" .. sysbench.opt.range
   random.seed(random.WARMUP, sysbench.tid, label)
   report.warmup(sysbench.tid, warmup.run(run_step, sysbench.opt.warmup))
   random.seed(random.MEASURE, sysbench.tid, label)
end

function event()
   run_step()
end

function thread_done()
   connection:close()
end

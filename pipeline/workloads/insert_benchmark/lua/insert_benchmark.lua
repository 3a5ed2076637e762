-- The Insert Benchmark, run by sysbench 1.0.20:
--
--   sysbench insert_benchmark.lua prepare
--   sysbench insert_benchmark.lua --step=l.i0 --rows=30000 --rows-per-commit=100 --time=0 run
--   sysbench insert_benchmark.lua --step=qr100 --threads=3 --rows-per-second=100 --rows-per-commit=50 --time=10 run
--   sysbench insert_benchmark.lua --explain=l.i1,qr100 explain
--   sysbench insert_benchmark.lua cleanup
--
-- Every client has a table of its own and, in a step, a thread for each kind of work: thread t does
-- kind t mod K of client t / K, where K is the number of kinds (kinds.lua).

local HERE = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = HERE .. "?.lua;" .. HERE .. "../../base/lua/?.lua;" .. package.path

local clock = require("clock")
local explain = require("explain")
local ffi = require("ffi")
local kinds = require("kinds")
local options = require("options")
local pace = require("pace")
local random = require("random")
local schema = require("schema")
local sql = require("sql")
local tally = require("tally")
local warmup = require("warmup")

sysbench.cmdline.options = options.DECLARED
sysbench.cmdline.commands = {
   prepare = {
      function()
         schema.make(sql.connect(), options.clients())
      end,
   },
   explain = {
      function()
         explain.steps(sql.connect(), sysbench.opt.explain, function(connection, name)
            random.seed(random.MEASURE, 0, name)
            return kinds.plans(connection, name)
         end)
      end,
   },
   cleanup = {
      function()
         schema.drop(sql.connect(), options.clients())
      end,
   },
}

function sysbench.hooks.report_intermediate(stat)
   tally.attach(kinds.of(sysbench.opt.step))
   tally.interval(stat.time_total)
end

-- The rows are those of the warm-up too: what a table has more and less than before the step.
function sysbench.hooks.report_cumulative()
   local names = kinds.of(sysbench.opt.step)
   tally.attach(names)
   tally.total(tally.elapsed())
   for _, kind in ipairs(names) do
      local ever = 0
      for thread = 0, sysbench.opt.threads - 1 do
         ever = ever + tally.ever(thread, kind)
      end
      io.stdout:write(("nightshift ever kind=%s operations=%.0f\n"):format(kind, ever))
   end
end

local connection, mine

function init()
   options.check_run()
   tally.open(kinds.of(sysbench.opt.step), sysbench.opt.threads)
end

function thread_init()
   tally.attach(kinds.of(sysbench.opt.step))
   connection = sql.connect()
   mine = kinds.build(kinds.owner(connection, sysbench.tid, kinds.of(sysbench.opt.step)))
   -- What has an end is done once: there is nothing to warm up with.
   if not mine.amount then
      random.seed(random.WARMUP, sysbench.tid, sysbench.opt.step)
      pace.restart(clock.now())
      warmup.run(mine.event, sysbench.opt.warmup)
      tally.restart(sysbench.tid)
   end
   random.seed(random.MEASURE, sysbench.tid, sysbench.opt.step)
end

function event()
   mine.event()
end

-- True until the work of this thread is done, or its time over.
local function unfinished(thread, finish)
   if mine.amount then
      return tally.ever(thread, mine.kind) < mine.amount
   end
   return clock.now() < finish
end

-- In place of sysbench's own: the threads of a step end by different rules. sb_more_events is false
-- when another thread has failed.
function thread_run(thread)
   local begin = clock.now()
   local finish = begin + sysbench.opt.time
   tally.began(thread, begin)
   pace.restart(begin)
   while unfinished(thread, finish) and ffi.C.sb_more_events(thread) do
      local ok, reason = pcall(event)
      if not ok then
         if type(reason) ~= "table" or reason.errcode ~= sysbench.error.RESTART_EVENT then
            error(reason, 0)
         end
         tally.fail(thread, mine.kind)
      end
   end
   tally.ended(thread, clock.now())
end

function thread_done()
   connection:close()
end

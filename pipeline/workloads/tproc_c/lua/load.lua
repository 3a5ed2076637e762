-- Makes the database of tproc-c, run by sysbench 1.0.20:
--
--   sysbench load.lua --warehouses=4 --threads=4 --time=0 run
--
-- Each thread fills warehouses of its own, after the tables were made and before their indexes
-- and the procedures are. It is a run and no command, because only that has all three phases.

local HERE = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = HERE .. "?.lua;" .. HERE .. "../../base/lua/?.lua;" .. package.path

local consistency = require("consistency")
local fill = require("fill")
local options = require("options")
local procedures = require("procedures")
local schema = require("schema")
local sql = require("sql")

sysbench.cmdline.options = options.DECLARED

function init()
   options.check()
   local connection = sql.connect()
   schema.create(connection)
   connection:close()
end

-- All that a thread has to do is one event.
function event(thread)
   local opt = sysbench.opt
   local connection = sql.connect()
   if thread == 0 then
      fill.items(connection, opt.items)
   end
   for warehouse = thread + 1, opt.warehouses, opt.threads do
      fill.warehouse(connection, warehouse, opt.customers, opt.items)
   end
   connection:close()
   local ended = true
   return ended
end

-- sysbench does not look at how this ends, so a failure ends the process.
function done()
   local ok, reason = pcall(function()
      local connection = sql.connect()
      schema.index(connection)
      procedures.create(connection)
      consistency.check_load(connection, fill.delivered(sysbench.opt.customers))
      connection:close()
   end)
   if not ok then
      io.stderr:write("FATAL: " .. tostring(reason) .. "\n")
      os.exit(1)
   end
end

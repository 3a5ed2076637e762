-- The scripts run in sysbench 1.0.20's LuaJIT.
std = "luajit"
max_line_length = 120
globals = { "sysbench" }
-- sysbench calls these by name.
for _, script in ipairs({
   "pipeline/workloads/sysbench/lua/nightshift.lua",
   "pipeline/workloads/insert_benchmark/lua/insert_benchmark.lua",
   "pipeline/workloads/tproc_c/lua/load.lua",
   "pipeline/workloads/tproc_c/lua/tproc_c.lua",
   "tests/workloads/oracle.lua",
}) do
   files[script] = { globals = { "sysbench", "init", "thread_init", "event", "thread_run", "thread_done", "done" } }
end

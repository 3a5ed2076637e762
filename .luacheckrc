-- The scripts run in sysbench 1.0.20's LuaJIT.
std = "luajit"
max_line_length = 120
files["pipeline/workloads/sysbench/lua"] = {
   globals = { "sysbench" },
}
-- sysbench calls these by name.
files["pipeline/workloads/sysbench/lua/nightshift.lua"] = {
   globals = { "sysbench", "init", "thread_init", "event", "thread_done" },
}

-- Machine-readable lines among sysbench's own output, each "nightshift <kind>" and
-- key=value pairs. sysbench has set stdout to unbuffered, so each line is out when
-- it is written; each is one write, so that lines of several threads never mix.

local ffi = require("ffi")

local report = {}

-- As in sysbench 1.0.20's src/sysbench.h; only needed to print its usual report.
ffi.cdef [[
typedef struct {
   uint32_t threads_running;
   double time_interval, time_total;
   double latency_pct, latency_min, latency_max, latency_avg, latency_sum;
   uint64_t events, reads, writes, other, errors, reconnects;
   uint64_t queue_length, concurrency;
} nightshift_stat;
void db_report_cumulative(nightshift_stat *stat);
]]

local function line(format, ...)
   io.stdout:write(format:format(...) .. "\n")
end

-- Once a reporting interval. Times in seconds, latency (the --percentile-th) in ms.
function report.interval(stat)
   line(
      "nightshift interval t=%.6f dt=%.6f events=%d lat_pct_ms=%.6f errors=%d reconnects=%d threads=%d",
      stat.time_total, stat.time_interval, stat.events, stat.latency_pct * 1000,
      stat.errors, stat.reconnects, stat.threads_running
   )
end

-- Once a thread, when its warm-up is over: what sysbench's own counters of errors
-- and queries hold without having been measured.
function report.warmup(thread, events, errors, seconds)
   line(
      "nightshift warmup thread=%d events=%d errors=%d seconds=%.6f",
      thread, events, errors, seconds
   )
end

-- Once, at the end: the totals with all their digits, then sysbench's usual report.
function report.total(stat)
   line(
      "nightshift total seconds=%.6f events=%d reads=%d writes=%d other=%d errors=%d"
         .. " reconnects=%d lat_min_ms=%.6f lat_avg_ms=%.6f lat_max_ms=%.6f lat_pct_ms=%.6f",
      stat.time_total, stat.events, stat.reads, stat.writes, stat.other, stat.errors,
      stat.reconnects, stat.latency_min * 1000, stat.latency_avg * 1000,
      stat.latency_max * 1000, stat.latency_pct * 1000
   )
   -- The structure's layout is that of this version.
   if sysbench.version == "1.0.20" then
      ffi.C.db_report_cumulative(ffi.new("nightshift_stat", stat))
   end
end

return report

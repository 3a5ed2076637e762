"""The published settings of the reports, as facts: for a server of 8 cores and 32 GB.

From bench/conf/arc/oct24/c8r32, bench/conf/arc/may25.pg18/pn53, bench/arc/feb25.pg.flat and
bench/arc/aug25.sb.mem.in.1u.50m.600s.900s.pn53 of the repository mdcallag/mytools. Without what
is of a machine or a run and not of a configuration: folders, and the allocator that is preloaded.
"""

from __future__ import annotations

from collections.abc import Mapping

Settings = Mapping[str, str]


def read(text: str) -> Settings:
    """Return the settings in a text: a name and a value on each line."""
    lines = (line.split(maxsplit=1) for line in text.strip().splitlines())
    return {line[0]: line[1] for line in lines}


_X10A_12 = read("""
huge_pages off
max_parallel_workers_per_gather 0
max_parallel_workers 0
checkpoint_warning 1800s
wal_sync_method fdatasync
wal_level replica
full_page_writes on
track_io_timing on
synchronous_commit off
shared_buffers 23GB
bgwriter_lru_maxpages 2000
bgwriter_delay 100ms
wal_compression off
max_wal_size 40GB
min_wal_size 20GB
log_autovacuum_min_duration 0
log_checkpoints on
checkpoint_timeout 1800s
checkpoint_completion_target 0.9
autovacuum_max_workers 4
autovacuum_naptime 10s
autovacuum_vacuum_cost_delay 1ms
autovacuum_vacuum_cost_limit 4000
autovacuum_vacuum_scale_factor 0.05
autovacuum_work_mem 256MB
jit off
""")
_X10A_13 = {**_X10A_12, "autovacuum_vacuum_insert_scale_factor": "0.05"}

_Z12A_56 = read("""
sql_mode no_engine_substitution,no_unsigned_subtraction
default_tmp_storage_engine MyISAM
long_query_time 5
log_bin ON
max_binlog_size 256M
server_id 77
binlog_format ROW
innodb_file_per_table 1
innodb_data_file_path ibdata1:512M:autoextend
slow_query_log 1
ssl 0
default_authentication_plugin mysql_native_password
character_set_server latin1
collation_server latin1_swedish_ci
eq_range_index_dive_limit 10
innodb_fast_shutdown 1
innodb_doublewrite 1
innodb_flush_method O_DIRECT_NO_FSYNC
innodb_autoinc_lock_mode 2
innodb_flush_neighbors 0
innodb_checksum_algorithm crc32
innodb_file_format Barracuda
innodb_file_format_max Barracuda
innodb_purge_threads 4
innodb_flush_log_at_trx_commit 2
sync_binlog 0
innodb_buffer_pool_size 23G
innodb_max_dirty_pages_pct_lwm 80
innodb_max_dirty_pages_pct 90
innodb_io_capacity 10000
innodb_io_capacity_max 20000
innodb_adaptive_hash_index OFF
innodb_read_io_threads 4
innodb_write_io_threads 4
innodb_buffer_pool_instances 4
innodb_log_files_in_group 15
innodb_log_file_size 2G
innodb_max_purge_lag 500000
innodb_max_purge_lag_delay 1000000
innodb_numa_interleave ON
innodb_log_buffer_size 64M
innodb_change_buffering all
innodb_change_buffer_max_size 25
""")


def _changed(settings: Settings, without: str, more: str) -> Settings:
    return {
        **{name: value for name, value in settings.items() if name not in without.split()},
        **read(more),
    }


_Z12A_57 = _changed(
    _Z12A_56,
    "innodb_checksum_algorithm innodb_file_format innodb_file_format_max",
    """
    performance_schema 1
    innodb_buffer_pool_load_at_startup OFF
    innodb_buffer_pool_dump_at_shutdown OFF
    innodb_page_cleaners 4
    """,
)
_Z12A_80 = _changed(
    _Z12A_57,
    "innodb_log_files_in_group innodb_log_file_size",
    """
    innodb_dedicated_server ON
    innodb_idle_flush_pct 1
    innodb_redo_log_capacity 30G
    innodb_log_writer_threads OFF
    innodb_doublewrite_pages 128
    innodb_use_fdatasync ON
    """,
)
_Z12A_84 = _changed(_Z12A_80, "ssl default_authentication_plugin", "mysql_native_password ON")
_Z12A_90 = _changed(_Z12A_84, "mysql_native_password", "innodb_dedicated_server ON")
_GTID_ON, _GTID_OFF = (
    read(f"enforce_gtid_consistency {value}\ngtid_mode {value}") for value in ("ON", "OFF")
)
_O_DIRECT = {"innodb_flush_method": "O_DIRECT"}

_Z12B_102 = read("""
sql_mode no_engine_substitution,no_unsigned_subtraction
default_tmp_storage_engine MyISAM
query_cache_size 0
query_cache_type 0
long_query_time 5
log_bin ON
max_binlog_size 256M
server_id 77
binlog_format ROW
innodb_file_per_table 1
innodb_data_file_path ibdata1:512M:autoextend
slow_query_log 1
performance_schema 1
ssl 0
default_authentication_plugin mysql_native_password
character_set_server latin1
collation_server latin1_swedish_ci
eq_range_index_dive_limit 10
innodb_fast_shutdown 1
innodb_doublewrite 1
innodb_flush_method O_DIRECT
innodb_autoinc_lock_mode 2
innodb_flush_neighbors 0
innodb_buffer_pool_load_at_startup OFF
innodb_buffer_pool_dump_at_shutdown OFF
innodb_purge_threads 4
innodb_flush_log_at_trx_commit 2
sync_binlog 0
innodb_buffer_pool_size 23G
innodb_log_files_in_group 15
innodb_log_file_size 2G
innodb_max_dirty_pages_pct_lwm 80
innodb_max_dirty_pages_pct 90
innodb_io_capacity 10000
innodb_io_capacity_max 20000
innodb_adaptive_hash_index OFF
innodb_read_io_threads 4
innodb_write_io_threads 4
innodb_undo_tablespaces 32
innodb_change_buffering none
innodb_buffer_pool_instances 4
innodb_page_cleaners 4
innodb_checksum_algorithm crc32
innodb_concurrency_tickets 1000000
innodb_max_purge_lag 500000
innodb_max_purge_lag_delay 1000000
innodb_log_write_ahead_size 4096
""")
_Z12B_105 = _changed(
    _Z12B_102,
    "innodb_log_files_in_group innodb_buffer_pool_instances innodb_page_cleaners "
    "innodb_concurrency_tickets",
    """
    innodb_log_file_size 30G
    innodb_lru_scan_depth 5000
    """,
)
_Z12B_11 = _changed(
    _Z12B_105,
    "innodb_flush_method",
    """
    innodb_log_file_buffering 1
    innodb_log_file_write_through 0
    innodb_data_file_buffering 0
    innodb_data_file_write_through 0
    innodb_snapshot_isolation 0
    """,
)
_SYNC = read("innodb_flush_log_at_trx_commit 1\nsync_binlog 1")
_IN_INNODB = read("binlog_storage_engine innodb")

PUBLISHED: Mapping[tuple[str, str, str], Settings] = {
    ("postgres", "x10a", "10"): {name: _X10A_12[name] for name in _X10A_12 if name != "jit"},
    ("postgres", "x10a", "11"): _X10A_12,
    ("postgres", "x10a", "12"): _X10A_12,
    ("postgres", "x10a", "13"): _X10A_13,
    ("postgres", "x10a", "14"): _X10A_13,
    ("postgres", "x10a", "15"): _X10A_13,
    ("postgres", "x10a", "16"): _X10A_13,
    ("postgres", "x10a", "17"): {**_X10A_13, "vacuum_buffer_usage_limit": "256MB"},
    ("postgres", "x10a", "18"): _X10A_13,
    ("postgres", "x10b", "18"): {**_X10A_13, "io_method": "sync"},
    ("postgres", "x10c", "18"): {**_X10A_13, "io_method": "worker", "io_workers": "16"},
    ("postgres", "x10d", "18"): {**_X10A_13, "io_method": "io_uring"},
    ("mysql", "z12a", "5.6"): _Z12A_56,
    ("mysql", "z12a", "5.7"): _Z12A_57,
    ("mysql", "z12a", "8.0"): _Z12A_80,
    ("mysql", "z12a", "8.4"): _Z12A_84,
    ("mysql", "z12a", "9.4"): _Z12A_90,
    ("mysql", "z12a", "9.7"): _Z12A_90,
    ("mysql", "z12a_gtid", "8.0"): {**_Z12A_80, **_GTID_ON},
    ("mysql", "z12a_gtid", "8.4"): {**_Z12A_84, **_GTID_ON},
    ("mysql", "z12a_gtid", "9.4"): {**_Z12A_90, **_GTID_ON},
    ("mysql", "z12b", "5.6"): {**_Z12A_56, **_O_DIRECT},
    ("mysql", "z12b", "5.7"): {**_Z12A_57, **_O_DIRECT},
    ("mysql", "z12b", "8.0"): {**_Z12A_80, **_O_DIRECT},
    ("mysql", "z12b", "8.4"): {**_Z12A_84, **_O_DIRECT},
    ("mysql", "z12b", "9.7"): {**_Z12A_90, **_O_DIRECT},
    ("mysql", "z13a", "9.5"): {**_Z12A_90, **_GTID_OFF},
    ("mysql", "z13a", "9.7"): {**_Z12A_90, **_GTID_OFF},
    ("mysql", "z13a_gtid", "9.7"): {**_Z12A_90, **_GTID_ON},
    ("mariadb", "z12b", "10.2"): _Z12B_102,
    ("mariadb", "z12b", "10.3"): _Z12B_102,
    ("mariadb", "z12b", "10.4"): _Z12B_102,
    ("mariadb", "z12b", "10.5"): _Z12B_105,
    ("mariadb", "z12b", "10.6"): _Z12B_105,
    ("mariadb", "z12b", "10.11"): _Z12B_105,
    ("mariadb", "z12b", "11.4"): _Z12B_11,
    ("mariadb", "z12b", "11.8"): _Z12B_11,
    ("mariadb", "z12b", "12.3"): _Z12B_11,
    ("mariadb", "z12b_sync", "12.3"): {**_Z12B_11, **_SYNC},
    ("mariadb", "z12c", "12.3"): {**_Z12B_11, **_IN_INNODB},
    ("mariadb", "z12c_sync", "12.3"): {**_Z12B_11, **_IN_INNODB, **_SYNC},
}
"""The published settings by target, configuration and major."""


def comparable(name: str, value: str) -> str:
    """Return a value in one spelling: sizes in bytes, times in milliseconds, switches as 0 or 1."""
    value = value.strip().strip("'\"").lower()
    if name == "sql_mode":
        return ",".join(sorted(value.split(",")))
    if value in ("on", "off"):
        return str(int(value == "on"))
    # Postgres reports a number and its unit, as "2048 8kB".
    number, _, unit = value.partition(" ")
    for ending, factor in _UNITS.items():
        if (unit or value).endswith(ending):
            head, times = (number, unit) if unit else (value, ending)
            head = head.removesuffix(ending)
            times = times.removesuffix(ending) or "1"
            if _numeric(head) and _numeric(times):
                return f"{float(head) * float(times) * factor:.0f}"
    return f"{float(value):.12g}" if _numeric(value) else value


_UNITS = {
    "kb": 1 << 10,
    "mb": 1 << 20,
    "gb": 1 << 30,
    "k": 1 << 10,
    "m": 1 << 20,
    "g": 1 << 30,
    "ms": 1,
    "min": 60_000,
    "s": 1000,
}


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

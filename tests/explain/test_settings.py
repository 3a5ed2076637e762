from __future__ import annotations

from pipeline.explain.settings import compare_settings, suspects


def test_what_is_of_the_run_alone_is_no_difference() -> None:
    old = {"port": "1", "server_version": "17.1", "jit": "on", "gone": "1", "same": "y"}
    new = {"port": "2", "server_version": "17.2", "jit": "off", "come": "2", "same": "y"}
    found = compare_settings(old, new)
    assert found.changed == (("jit", "on", "off"),)
    assert (found.added, found.removed) == ((("come", "2"),), (("gone", "1"),))
    assert found.summary == "1 changed, 1 added, 1 removed"
    assert compare_settings(old, old).summary == "no difference"


def test_what_can_cost_time_is_suspected_first() -> None:
    old = {"DateStyle": "ISO", "wal_compression": "off", "pg_config.CC": "gcc", "gone": "1"}
    new = {"DateStyle": "SQL", "wal_compression": "pglz", "pg_config.CC": "clang"}
    found = suspects(compare_settings(old, new))
    # How it was compiled cannot be put back, and a setting that is gone has nowhere to be put.
    assert [suspect.name for suspect in found] == ["wal_compression", "DateStyle"]
    assert (found[0].old, found[0].new) == ("off", "pglz")

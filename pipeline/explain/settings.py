"""Find the settings of a DBMS that differ between two revisions, most suspicious first."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pipeline.model import Frozen

PER_RUN_SETTINGS: Mapping[str, str] = {
    "aria_log_dir_path": "a path of the run's own folder",
    "basedir": "where the build is installed",
    "character_sets_dir": "where the build is installed",
    "config_file": "a path of the run's own folder",
    "data_directory": "the run's own folder",
    "datadir": "the run's own folder",
    "external_pid_file": "a path of the run's own folder",
    "general_log_file": "a path of the run's own folder",
    "gtid_executed": "a counter since the server was created, not a setting",
    "hba_file": "a path of the run's own folder",
    "ident_file": "a path of the run's own folder",
    "lc_messages_dir": "where the build is installed",
    "log_bin_basename": "a path of the run's own folder",
    "log_bin_index": "a path of the run's own folder",
    "pid_file": "a path of the run's own folder",
    "plugin_dir": "where the build is installed",
    "port": "a free port, chosen for every run",
    "relay_log_basename": "a path of the run's own folder",
    "relay_log_index": "a path of the run's own folder",
    "replica_load_tmpdir": "a path of the run's own folder",
    "report_port": "a free port, chosen for every run",
    "secure_file_priv": "a path of the run's own folder",
    "server_uid": "generated anew by every server",
    "server_uuid": "generated anew by every server",
    "server_version": "it follows from the revision",
    "server_version_num": "it follows from the revision",
    "slave_load_tmpdir": "a path of the run's own folder",
    "slow_query_log_file": "a path of the run's own folder",
    "socket": "a path of the run's own folder",
    "tmpdir": "a path of the run's own folder",
    "unix_socket_directories": "the run's own folder",
    "version": "it follows from the revision",
    "wsrep_data_home_dir": "a path of the run's own folder",
}
"""Variables that differ between runs or only name the revision, with the reason. Every other
difference is shown, even a harmless-looking one."""

BUILD_FACTS = ("pg_config.", "compiled.", "version")
"""Prefixes of the values that describe how a server was compiled: no configuration restores
them."""

_COSTLY = re.compile(
    r"buffer|cache|mem|pool|wal|log|sync|flush|commit|checkpoint|write|io|direct|fsync|mmap|page"
    r"|jit|parallel|worker|thread|enable_|cost|join|optimizer|switch|hash|index|scan|vacuum|purge"
    r"|compact|compress|checksum|encrypt|track|audit|schema|lock|isolation|doublewrite|bloom|level"
)
"""Words in the names of settings that affect time: memory, storage, plans, concurrency,
bookkeeping. Other settings (formats, languages, limits of names) are suspected later."""


class SettingDifferences(Frozen):
    """Which settings of a DBMS were changed, added or removed between two revisions.

    Changed ones are (name, old, new), others (name, value).
    """

    changed: tuple[tuple[str, str, str], ...] = ()
    added: tuple[tuple[str, str], ...] = ()
    removed: tuple[tuple[str, str], ...] = ()

    @property
    def summary(self) -> str:
        """Return in words how many settings were changed, added and removed."""
        counts = [
            f"{len(found)} {what}"
            for found, what in (
                (self.changed, "changed"),
                (self.added, "added"),
                (self.removed, "removed"),
            )
            if found
        ]
        return ", ".join(counts) or "no difference"


class Suspect(Frozen):
    """A changed setting that may be the reason of a slowdown: name, old value, new value."""

    name: str
    old: str
    new: str


def compare_settings(old: Mapping[str, str], new: Mapping[str, str]) -> SettingDifferences:
    """Compare the settings that two servers reported, without those that differ in any run."""
    names = sorted((old.keys() | new.keys()) - PER_RUN_SETTINGS.keys())
    return SettingDifferences(
        changed=tuple(
            (name, old[name], new[name])
            for name in names
            if name in old and name in new and old[name] != new[name]
        ),
        added=tuple((name, new[name]) for name in names if name not in old),
        removed=tuple((name, old[name]) for name in names if name not in new),
    )


def suspects(difference: SettingDifferences) -> tuple[Suspect, ...]:
    """Return the changed settings whose old value can be tried, most suspicious first.

    A setting that only one side has offers no old value to restore, and compilation facts are not
    settings.
    """
    return tuple(
        sorted(
            (
                Suspect(name=name, old=old, new=new)
                for name, old, new in difference.changed
                if not name.startswith(BUILD_FACTS)
            ),
            key=lambda suspect: (_COSTLY.search(suspect.name.lower()) is None, suspect.name),
        )
    )

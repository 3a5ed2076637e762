"""How the settings of two servers differ, and which difference is suspected first."""

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
    "gtid_executed": "what was done since the server was made, not a setting",
    "hba_file": "a path of the run's own folder",
    "ident_file": "a path of the run's own folder",
    "lc_messages_dir": "where the build is installed",
    "log_bin_basename": "a path of the run's own folder",
    "log_bin_index": "a path of the run's own folder",
    "pid_file": "a path of the run's own folder",
    "plugin_dir": "where the build is installed",
    "port": "a free port is picked for every run",
    "relay_log_basename": "a path of the run's own folder",
    "relay_log_index": "a path of the run's own folder",
    "replica_load_tmpdir": "a path of the run's own folder",
    "report_port": "a free port is picked for every run",
    "secure_file_priv": "a path of the run's own folder",
    "server_uid": "made up anew by every server",
    "server_uuid": "made up anew by every server",
    "server_version": "the revision says it",
    "server_version_num": "the revision says it",
    "slave_load_tmpdir": "a path of the run's own folder",
    "slow_query_log_file": "a path of the run's own folder",
    "socket": "a path of the run's own folder",
    "tmpdir": "a path of the run's own folder",
    "unix_socket_directories": "the run's own folder",
    "version": "the revision says it",
    "wsrep_data_home_dir": "a path of the run's own folder",
}
"""Variables that differ from run to run or say only which revision it is, with the reason.
Everything else that differs is shown, even where it looks harmless."""

BUILD_FACTS = ("pg_config.", "compiled.", "version")
"""Begin the names of what a server reports of how it was compiled: no configuration puts it
back."""

_COSTLY = re.compile(
    r"buffer|cache|mem|pool|wal|log|sync|flush|commit|checkpoint|write|io|direct|fsync|mmap|page"
    r"|jit|parallel|worker|thread|enable_|cost|join|optimizer|switch|hash|index|scan|vacuum|purge"
    r"|compact|compress|checksum|encrypt|track|audit|schema|lock|isolation|doublewrite|bloom|level"
)
"""Words in the names of settings that cost or save time: memory, storage, plans, concurrency,
bookkeeping. What they do not match (formats, languages, limits of names) comes later."""


class Difference(Frozen):
    """How settings differ: (name, old, new) of the changed, (name, value) of the others."""

    changed: tuple[tuple[str, str, str], ...] = ()
    added: tuple[tuple[str, str], ...] = ()
    removed: tuple[tuple[str, str], ...] = ()

    @property
    def summary(self) -> str:
        """How many were changed, added and removed, in words."""
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
    """A setting whose value changed, and so may be why: its name, old and new value."""

    name: str
    old: str
    new: str


def compare_settings(old: Mapping[str, str], new: Mapping[str, str]) -> Difference:
    """Compare what two servers reported, except PER_RUN_SETTINGS."""
    names = sorted((old.keys() | new.keys()) - PER_RUN_SETTINGS.keys())
    return Difference(
        changed=tuple(
            (name, old[name], new[name])
            for name in names
            if name in old and name in new and old[name] != new[name]
        ),
        added=tuple((name, new[name]) for name in names if name not in old),
        removed=tuple((name, old[name]) for name in names if name not in new),
    )


def suspects(difference: Difference) -> tuple[Suspect, ...]:
    """Return the changed values that can be put back, the likeliest to cost time first.

    A setting that only one side knows has no old value to be given, and how a program was
    compiled is no setting.
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

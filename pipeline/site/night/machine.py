"""The part of a night's report about machines, builds and settings, and how these differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.explain.settings import SettingDifferences, compare_settings
from pipeline.machine.storage import show_disk
from pipeline.model import Disk
from pipeline.site.format import moment
from pipeline.site.night.data import LineData
from pipeline.storage.runs import RunRow
from pipeline.text.units import plural


@dataclass(frozen=True, slots=True)
class MachineField:
    """One fact about the machines in the report: a value for each machine."""

    name: str
    values: tuple[str, ...]
    differs: bool


@dataclass(frozen=True, slots=True)
class NightMachines:
    """The machines of the runs in the report, with a column for each distinct fingerprint."""

    heads: tuple[str, ...]
    fields: tuple[MachineField, ...]


@dataclass(frozen=True, slots=True)
class BuildView:
    """One build in the report: where it came from, and which builds are the same binary."""

    target: str
    revision: str
    options: str
    reported: str
    source: str
    locator: str
    archive: str
    program: str
    same_as: str


@dataclass(frozen=True, slots=True)
class SettingsStep:
    """Which settings differ between a revision and the next measured one."""

    before: str
    after: str
    differences: SettingDifferences


@dataclass(frozen=True, slots=True)
class LineSettings:
    """Which settings differ along a line with one configuration."""

    line: str
    configs: str
    steps: tuple[SettingsStep, ...]
    missing: tuple[str, ...]


def runs_of(lines: Sequence[LineData]) -> list[RunRow]:
    """Return the runs that the report shows, each once."""
    return list(
        {run.run_id: run for line in lines for part in line.setups for run in part.runs}.values()
    )


def view_machines(runs: Sequence[RunRow]) -> NightMachines:
    """Return the different machine fingerprints side by side, oldest first."""
    found: dict[str, list[RunRow]] = {}
    for run in sorted(runs, key=lambda run: run.started_at):
        same = json.dumps([run.machine, run.pinning, run.tools], sort_keys=True)
        found.setdefault(same, []).append(run)
    machines = [_facts(members[0]) for members in found.values()]
    names = list(dict.fromkeys(name for machine in machines for name in machine))
    columns = [[machine.get(name, "–") for machine in machines] for name in names]
    return NightMachines(
        heads=tuple(
            f"{members[0].machine['hostname'] or members[0].machine['machine_class']}, "
            f"{plural(len(members), 'run')} since {moment(members[0].started_at)}"
            for members in found.values()
        ),
        fields=tuple(
            MachineField(name, tuple(values), len(set(values)) > 1)
            for name, values in zip(names, columns, strict=True)
        ),
    )


def view_builds(runs: Sequence[RunRow]) -> list[BuildView]:
    """Return the builds in order of revisions; those of the same binary refer to each other."""
    by_name = {
        (run.target, run.revision, run.build_options): run
        for run in sorted(runs, key=lambda run: (run.target, run.order, run.revision))
    }
    by_hash: dict[str, list[str]] = {}
    for run in by_name.values():
        by_hash.setdefault(run.build_hash, []).append(run.revision)
    return [
        BuildView(
            target=run.target,
            revision=run.revision,
            options=run.build_options,
            reported=str(run.provenance.get("reported_version", "")),
            source=str(run.provenance.get("source", "")),
            locator=str(run.provenance.get("locator", "")),
            archive=str(run.provenance.get("sha256", "")),
            program=run.build_hash,
            same_as=", ".join(
                dict.fromkeys(name for name in by_hash[run.build_hash] if name != run.revision)
            ),
        )
        for run in by_name.values()
    ]


def view_settings(
    lines: Sequence[LineData], settings_of: Callable[[int], Mapping[str, str]]
) -> list[LineSettings]:
    """Return which settings differ between neighbouring measured revisions, by line.

    The settings of a revision are those of its first run; ``settings_of`` is called once for each.
    """
    known: dict[int, Mapping[str, str]] = {}

    def read(settings_id: int) -> Mapping[str, str]:
        if settings_id not in known:
            known[settings_id] = settings_of(settings_id)
        return known[settings_id]

    views: dict[tuple[str, str], LineSettings] = {}
    for line in lines:
        for part in line.setups:
            # Workloads with the same configuration have the same differences.
            key = (line.line.name, part.setup.config)
            if key in views:
                continue
            first: dict[str, RunRow] = {}
            for run in part.runs:
                first.setdefault(run.revision, run)
            seen = [
                (label, read(run.settings_id))
                for label, run in first.items()
                if run.settings_id is not None
            ]
            views[key] = LineSettings(
                line=line.line.name,
                configs=", ".join(dict.fromkeys(run.config for run in part.runs)),
                steps=tuple(
                    SettingsStep(before, after, compare_settings(old, new))
                    for (before, old), (after, new) in pairwise(seen)
                ),
                missing=tuple(label for label, run in first.items() if run.settings_id is None),
            )
    return list(views.values())


def _facts(run: RunRow) -> dict[str, str]:
    machine = run.machine
    facts = {
        name.replace("_", " "): str(value)
        for name, value in machine.items()
        if isinstance(value, str | int) and name != "memory_bytes" and value != ""
    }
    memory = machine.get("memory_bytes")
    if isinstance(memory, int) and memory:
        facts["memory"] = f"{memory / 2**30:.1f} GiB"
    facts |= {
        f"processors of the {who}": ", ".join(map(str, processors)) or "not pinned"
        for who, processors in run.pinning.items()
    }
    for disk in machine.get("disks", ()):
        known = Disk.model_validate(disk)
        facts[f"disk {known.name}"] = show_disk(known)
    facts |= run.tools
    for group in ("software", "settings"):
        facts |= {str(name): str(value) for name, value in machine.get(group, {}).items()}
    return facts

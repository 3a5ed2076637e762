"""Tuning of processors: frequency, turbo, idle states, threads per core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from pipeline.machine.kernel_files import Tree
from pipeline.machine.tune.desired_value import DesiredValue, KnobRequest, UnavailableSetting
from pipeline.machine.tune.settings import KEEP, TuneSettings

CPU = "/sys/devices/system/cpu"


def governor(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request the configured frequency governor for each group of processors."""
    wanted = settings.governor
    if wanted == KEEP:
        return
    policies = tree.glob(f"{CPU}/cpufreq/policy*/scaling_governor")
    if not policies:
        yield UnavailableSetting(
            "governor", "the kernel does not control frequencies on this machine"
        )
    for path in policies:
        known = tree.read(str(PurePosixPath(path).with_name("scaling_available_governors")))
        if known and wanted not in known.split():
            yield UnavailableSetting("governor", f"{path} supports only {', '.join(known.split())}")
        else:
            yield DesiredValue("governor", path, wanted)


def turbo(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request that turbo frequencies of the processors be on or off, as configured."""
    if settings.turbo == KEEP:
        return
    on = settings.turbo == "on"
    if tree.read(intel := f"{CPU}/intel_pstate/no_turbo"):
        yield DesiredValue("turbo", intel, "0" if on else "1")
        return
    # One switch for all processors, or one for each group.
    boosts = [path for path in [f"{CPU}/cpufreq/boost"] if tree.read(path)] or tree.glob(
        f"{CPU}/cpufreq/policy*/boost"
    )
    if not boosts:
        yield UnavailableSetting("turbo", "the kernel has no switch for it on this machine")
    for path in boosts:
        yield DesiredValue("turbo", path, "1" if on else "0")


def idle_states(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request that idle states with a latency above ``idle_latency_us`` be disabled."""
    limit = settings.idle_latency_us
    if limit is None:
        return
    latencies = tree.glob(f"{CPU}/cpu[0-9]*/cpuidle/state[0-9]*/latency")
    if not latencies:
        yield UnavailableSetting(
            "idle_latency_us", "the kernel does not control idle states on this machine"
        )
    for path in latencies:
        if (tree.number(path) or 0) > limit:
            yield DesiredValue(
                "idle_latency_us", str(PurePosixPath(path).with_name("disable")), "1"
            )


_NO_SMT = {"", "notsupported", "notimplemented"}


def smt(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request one or two threads on each core, as configured."""
    path = f"{CPU}/smt/control"
    now = tree.read(path)
    if settings.smt == KEEP or (settings.smt == "off" and now in {*_NO_SMT, "forceoff"}):
        return
    if now in {*_NO_SMT, "forceoff"}:
        yield UnavailableSetting(
            "smt", "these processors have no second threads, or they are permanently disabled"
        )
    else:
        yield DesiredValue("smt", path, settings.smt)

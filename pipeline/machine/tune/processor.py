"""The processors: frequency, turbo, idle states, threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from pipeline.machine.tree import Tree
from pipeline.machine.tune.settings import KEEP, Settings
from pipeline.machine.tune.wish import Asked, Lacking, Wish

CPU = "/sys/devices/system/cpu"


def governor(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask for the frequency governor of every group of processors that share a frequency."""
    wanted = settings.governor
    if wanted == KEEP:
        return
    policies = tree.glob(f"{CPU}/cpufreq/policy*/scaling_governor")
    if not policies:
        yield Lacking("governor", "the kernel does not choose frequencies here")
    for path in policies:
        known = tree.read(str(PurePosixPath(path).with_name("scaling_available_governors")))
        if known and wanted not in known.split():
            yield Lacking("governor", f"{path} knows {', '.join(known.split())}")
        else:
            yield Wish("governor", path, wanted)


def turbo(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask for turbo: Intel's driver says whether it is off, all others whether it is on."""
    if settings.turbo == KEEP:
        return
    on = settings.turbo == "on"
    if tree.read(intel := f"{CPU}/intel_pstate/no_turbo"):
        yield Wish("turbo", intel, "0" if on else "1")
        return
    # One switch for all, or one for each group of processors.
    boosts = [path for path in [f"{CPU}/cpufreq/boost"] if tree.read(path)] or tree.glob(
        f"{CPU}/cpufreq/policy*/boost"
    )
    if not boosts:
        yield Lacking("turbo", "the kernel has no switch for it here")
    for path in boosts:
        yield Wish("turbo", path, "1" if on else "0")


def idle_states(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask for the idle states that take long to leave to be left out."""
    limit = settings.idle_latency_us
    if limit is None:
        return
    latencies = tree.glob(f"{CPU}/cpu[0-9]*/cpuidle/state[0-9]*/latency")
    if not latencies:
        yield Lacking("idle_latency_us", "the kernel does not choose idle states here")
    for path in latencies:
        if (tree.number(path) or 0) > limit:
            yield Wish("idle_latency_us", str(PurePosixPath(path).with_name("disable")), "1")


_NO_SMT = {"", "notsupported", "notimplemented"}


def smt(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask for one or two threads on a core. Where there is only one, there is none to take off."""
    path = f"{CPU}/smt/control"
    now = tree.read(path)
    if settings.smt == KEEP or (settings.smt == "off" and now in {*_NO_SMT, "forceoff"}):
        return
    if now in {*_NO_SMT, "forceoff"}:
        yield Lacking("smt", "these processors have no second threads, or not any more")
    else:
        yield Wish("smt", path, settings.smt)

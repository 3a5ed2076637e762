"""Tuning of memory: swap, huge pages, NUMA, dirty pages, address randomisation."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.machine.kernel_files import Tree
from pipeline.machine.tune.desired_value import DesiredValue, KnobRequest, UnavailableSetting
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.knobs import OFF, swaps
from pipeline.machine.tune.settings import KEEP, TuneSettings

VM = "/proc/sys/vm"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
NUMA = "/proc/sys/kernel/numa_balancing"
ASLR = "/proc/sys/kernel/randomize_va_space"


def swap(settings: TuneSettings, host: Host) -> Iterator[KnobRequest]:
    """Request that every swap device be turned off, the last used first."""
    if settings.swap != KEEP:
        for device in swaps(host):
            yield DesiredValue("swap", f"swap {device}", OFF)


def swappiness(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request the configured swappiness: how readily the kernel swaps memory out."""
    if settings.swappiness is not None:
        yield _of_file("swappiness", f"{VM}/swappiness", str(settings.swappiness), tree)


def huge_pages(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request the configured mode of transparent huge pages."""
    if settings.thp != KEEP:
        yield _of_file("thp", THP, settings.thp, tree)


def numa_balancing(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request that the kernel stop moving memory between NUMA nodes."""
    if settings.numa_balancing != KEEP and tree.read(NUMA):
        yield DesiredValue("numa_balancing", NUMA, "0")


def aslr(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request that programs get the same addresses in every start."""
    if settings.aslr != KEEP:
        yield _of_file("aslr", ASLR, "0", tree)


def dirty(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request the configured limits of memory that holds data not yet on disk.

    A limit in bytes overrides a limit in percent. Where a limit in bytes is set, the percentage is
    reported as unavailable: setting it would clear the limit in bytes, and writing the old
    percentage back would not restore that.
    """
    for name in ("dirty_ratio", "dirty_background_ratio"):
        wanted = getattr(settings, name)
        if wanted is None:
            continue
        instead = f"{VM}/{name.replace('ratio', 'bytes')}"
        if tree.number(instead):
            yield UnavailableSetting(name, f"{instead} is set and overrides it")
        else:
            yield _of_file(name, f"{VM}/{name}", str(wanted), tree)


def _of_file(setting: str, path: str, value: str, tree: Tree) -> KnobRequest:
    return (
        DesiredValue(setting, path, value)
        if tree.read(path)
        else UnavailableSetting(setting, f"{path} is missing")
    )

"""Memory: swap, huge pages, NUMA, what waits to be written, and addresses."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.machine.tree import Tree
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.knobs import OFF, swaps
from pipeline.machine.tune.settings import KEEP, Settings
from pipeline.machine.tune.wish import Asked, Lacking, Wish

VM = "/proc/sys/vm"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
NUMA = "/proc/sys/kernel/numa_balancing"
ASLR = "/proc/sys/kernel/randomize_va_space"


def swap(settings: Settings, host: Host) -> Iterator[Asked]:
    """Ask for no swap, device by device, the last used first."""
    if settings.swap != KEEP:
        for device in swaps(host):
            yield Wish("swap", f"swap {device}", OFF)


def swappiness(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask how readily memory is swapped out."""
    if settings.swappiness is not None:
        yield _of_file("swappiness", f"{VM}/swappiness", str(settings.swappiness), tree)


def huge_pages(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask for transparent huge pages."""
    if settings.thp != KEEP:
        yield _of_file("thp", THP, settings.thp, tree)


def numa_balancing(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask that memory stays on its node. A kernel without NUMA moves none."""
    if settings.numa_balancing != KEEP and tree.read(NUMA):
        yield Wish("numa_balancing", NUMA, "0")


def aslr(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask for the same addresses in every start of a program."""
    if settings.aslr != KEEP:
        yield _of_file("aslr", ASLR, "0", tree)


def dirty(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask how much of memory may wait to be written.

    A limit in bytes goes before one in percent. The kernel takes no zero for it, so that setting
    the other could not be undone by the same files.
    """
    for name in ("dirty_ratio", "dirty_background_ratio"):
        wanted = getattr(settings, name)
        if wanted is None:
            continue
        instead = f"{VM}/{name.replace('ratio', 'bytes')}"
        if tree.number(instead):
            yield Lacking(name, f"{instead} is set and holds in its place")
        else:
            yield _of_file(name, f"{VM}/{name}", str(wanted), tree)


def _of_file(setting: str, path: str, value: str, tree: Tree) -> Asked:
    return Wish(setting, path, value) if tree.read(path) else Lacking(setting, f"{path} is missing")

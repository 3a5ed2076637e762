"""Checks of the processors: their speed, and what takes it from a measurement."""

from __future__ import annotations

from pipeline.machine.checks.base import Check, Finding, Level, Look, bad, good, judged, unknown
from pipeline.machine.readings import CPU, grown, temperatures

_TUNE = "nightshift tune set"

HOT = 5.0
"""Degrees Celsius below its limit at which a part counts as hot: the load of a measurement adds
more than that to what an idle machine has."""


def _governor(look: Look) -> Finding:
    paths = look.tree.glob(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor")
    governors = sorted({look.tree.read(path) for path in paths} - {""})
    if not governors:
        return unknown("the frequency is not ours to set")
    return judged(governors == ["performance"], ", ".join(governors))


def _turbo(look: Look) -> Finding:
    # Intel's driver says whether it is off, all others whether it is on, some for every policy.
    paths = [f"{CPU}/cpufreq/boost", *look.tree.glob(f"{CPU}/cpufreq/policy*/boost")]
    boosts = {look.tree.number(path) for path in paths}
    no_turbo = look.tree.number(f"{CPU}/intel_pstate/no_turbo")
    if boosts == {None} and no_turbo is None:
        return unknown("the processor does not say")
    return bad("on") if 1 in boosts or no_turbo == 0 else good("off")


def _smt(look: Look) -> Finding:
    active = look.tree.number(f"{CPU}/smt/active")
    if active is None:
        return unknown("the kernel does not say")
    return judged(active == 0, "on" if active else "off")


def _mitigations(look: Look) -> Finding:
    paths = look.tree.glob(f"{CPU}/vulnerabilities/*")
    if not paths:
        return unknown("the kernel does not say")
    exposed = [path for path in paths if look.tree.read(path).startswith("Vulnerable")]
    if not exposed:
        return good("on")
    if "mitigations=off" in look.machine.cmdline.split():
        return good("off, by the kernel's parameters")
    return bad("none for " + ", ".join(path.rpartition("/")[2] for path in exposed))


def _throttled(look: Look) -> Finding:
    before, after = (moment.throttled for moment in look.moments)
    if not after:
        return unknown("not counted here")
    if grew := grown(before, after):
        return bad("slowed right now: " + ", ".join(sorted(grew)))
    return good(f"not now; {max(after.values())} times since boot")


def _temperature(look: Look) -> Finding:
    known = {
        name: sensor for name, sensor in temperatures(look.tree).items() if sensor.limit is not None
    }
    if not known:
        return unknown("no sensor with a limit")
    # The one that is nearest to its limit is told.
    name, sensor = min(known.items(), key=lambda item: (item[1].limit or 0) - item[1].degrees)
    limit = sensor.limit or 0.0
    told = f"{name} {sensor.degrees:.0f} °C of {limit:.0f} °C"
    return judged(sensor.degrees < limit - HOT, told)


def _power(look: Look) -> Finding:
    supplies = look.tree.glob("/sys/class/power_supply/*/type")
    folders = {path.removesuffix("/type"): look.tree.read(path) for path in supplies}
    batteries = [at for at, kind in folders.items() if kind == "Battery"]
    if any(look.tree.read(f"{at}/status") == "Discharging" for at in batteries):
        return bad("battery")
    return good("mains")


CHECKS = (
    Check(
        "governor",
        Level.WARN,
        "A governor that follows the load measures how fast the frequency rises, too.",
        _TUNE,
        _governor,
    ),
    Check(
        "turbo",
        Level.WARN,
        "Turbo depends on temperature and on how many cores work, so a cool night is faster.",
        _TUNE,
        _turbo,
    ),
    Check(
        "smt",
        Level.IGNORE,
        "Two threads share a core, so a query's speed depends on what its neighbour does.",
        f'{_TUNE}, with [tune] smt = "off"',
        _smt,
    ),
    Check(
        "mitigations",
        Level.IGNORE,
        "Some mitigations lack their microcode; the update that brings it changes all numbers.",
        "apt-get install amd64-microcode, or intel-microcode, and reboot",
        _mitigations,
    ),
    Check(
        "throttling",
        Level.WARN,
        "A processor that is too hot slows itself down, and no one but its counters says so.",
        "clean fans and filters, or cool the room",
        _throttled,
    ),
    Check(
        "temperature",
        Level.WARN,
        "A part that is near its limit before a measurement slows down in it.",
        "let it cool down; clean fans and filters",
        _temperature,
    ),
    Check(
        "power",
        Level.WARN,
        "On battery the firmware holds back the processor.",
        "plug it in",
        _power,
    ),
)
"""The checks of this group."""

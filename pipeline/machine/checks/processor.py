"""Machine checks of the processors: their speed, and what reduces it."""

from __future__ import annotations

from pipeline.machine.checks.base import (
    Check,
    CheckFinding,
    Look,
    Severity,
    bad,
    good,
    judged,
    unknown,
)
from pipeline.machine.counters import CPU, increases, temperatures

_TUNE = "nightshift tune set"

HOT = 5.0
"""Degrees Celsius below its limit at which a part counts as hot: the load of a measurement adds
more than that to the temperature of an idle machine."""


def _governor(look: Look) -> CheckFinding:
    paths = look.tree.glob(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor")
    governors = sorted({look.tree.read(path) for path in paths} - {""})
    if not governors:
        return unknown("this machine does not allow setting the frequency")
    return judged(governors == ["performance"], ", ".join(governors))


def _turbo(look: Look) -> CheckFinding:
    # Intel's driver has a switch for off, all others one for on, some for every policy.
    paths = [f"{CPU}/cpufreq/boost", *look.tree.glob(f"{CPU}/cpufreq/policy*/boost")]
    boosts = {look.tree.number(path) for path in paths}
    no_turbo = look.tree.number(f"{CPU}/intel_pstate/no_turbo")
    if boosts == {None} and no_turbo is None:
        return unknown("not reported by the processor")
    return bad("on") if 1 in boosts or no_turbo == 0 else good("off")


def _smt(look: Look) -> CheckFinding:
    active = look.tree.number(f"{CPU}/smt/active")
    if active is None:
        return unknown("not reported by the kernel")
    return judged(active == 0, "on" if active else "off")


def _mitigations(look: Look) -> CheckFinding:
    paths = look.tree.glob(f"{CPU}/vulnerabilities/*")
    if not paths:
        return unknown("not reported by the kernel")
    exposed = [path for path in paths if look.tree.read(path).startswith("Vulnerable")]
    if not exposed:
        return good("on")
    if "mitigations=off" in look.machine.cmdline.split():
        return good("off, by the kernel's parameters")
    return bad("none for " + ", ".join(path.rpartition("/")[2] for path in exposed))


def _throttled(look: Look) -> CheckFinding:
    before, after = (moment.throttled for moment in look.moments)
    if not after:
        return unknown("not counted on this machine")
    if grew := increases(before, after):
        return bad("slowed down now: " + ", ".join(sorted(grew)))
    return good(f"not now; {max(after.values())} times since boot")


def _temperature(look: Look) -> CheckFinding:
    known = {
        name: sensor for name, sensor in temperatures(look.tree).items() if sensor.limit is not None
    }
    if not known:
        return unknown("no sensor with a limit")
    # Report the sensor nearest to its limit.
    name, sensor = min(known.items(), key=lambda item: (item[1].limit or 0) - item[1].degrees)
    limit = sensor.limit or 0.0
    reported = f"{name} {sensor.degrees:.0f} °C of {limit:.0f} °C"
    return judged(sensor.degrees < limit - HOT, reported)


def _power(look: Look) -> CheckFinding:
    supplies = look.tree.glob("/sys/class/power_supply/*/type")
    folders = {path.removesuffix("/type"): look.tree.read(path) for path in supplies}
    batteries = [at for at, kind in folders.items() if kind == "Battery"]
    if any(look.tree.read(f"{at}/status") == "Discharging" for at in batteries):
        return bad("battery")
    return good("mains")


CHECKS = (
    Check(
        "governor",
        Severity.WARN,
        "A governor that follows the load makes results depend on how fast the frequency rises.",
        _TUNE,
        _governor,
    ),
    Check(
        "turbo",
        Severity.WARN,
        "Turbo depends on temperature and on the number of busy cores, so a cool night is faster.",
        _TUNE,
        _turbo,
    ),
    Check(
        "smt",
        Severity.IGNORE,
        "Two threads share a core, so the speed of a query depends on the other thread.",
        f'{_TUNE}, with [tune] smt = "off"',
        _smt,
    ),
    Check(
        "mitigations",
        Severity.IGNORE,
        "Some mitigations lack their microcode; the update that brings it will change all results.",
        "apt-get install amd64-microcode, or intel-microcode, and reboot",
        _mitigations,
    ),
    Check(
        "throttling",
        Severity.WARN,
        "A processor that is too hot slows down; only its counters show it.",
        "clean fans and filters, or cool the room",
        _throttled,
    ),
    Check(
        "temperature",
        Severity.WARN,
        "A component near its temperature limit slows down during the measurement.",
        "let it cool down; clean fans and filters",
        _temperature,
    ),
    Check(
        "power",
        Severity.WARN,
        "On battery power the firmware slows the processor.",
        "connect the power supply",
        _power,
    ),
)
"""All machine checks of the processors."""

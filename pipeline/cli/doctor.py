"""The verb `doctor`: report what disturbs measurements on this machine."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import typer
from rich.text import Text

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.machine.checks.base import CheckResult, Severity, Verdict
from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.text.units import plural
from pipeline.use_cases.context import Context
from pipeline.use_cases.doctor import examine_machine

_WORDS = {Severity.REFUSE: "refuse", Severity.WARN: "warn", Severity.IGNORE: "note"}
_STYLES = {
    "refuse": "bold red",
    "warn": "yellow",
    "note": "cyan",
    "unknown": "dim",
    "good": "green",
}
"""The words for the results of checks, worst first, with their colours."""

_NARROW, _WIDE = 60, 100
"""Limits of the text width in columns, for readability."""

_INDENT = "  "


@app.command("doctor")
def doctor_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Report what disturbs measurements on this machine.

    The command changes nothing. The result of a check is good, bad, or unknown if the machine does
    not report the value. [preflight] in nightshift.toml decides whether a bad result refuses a
    night, is a warning, or is only a note. The exit code is 2 if a night would be refused, 1 if
    there would be a warning, else 0.

    Example: nightshift doctor
    """
    machine, checks = examine_machine(Context(config, needed=False))
    words = [word(each) for each in checks]
    if form is Format.JSON:
        print_json(
            {
                "fit": "refuse" not in words,
                "machine": machine.model_dump(mode="json"),
                "checks": [each.model_dump(mode="json") for each in checks],
            }
        )
    else:
        width = min(max(out.width, _NARROW), _WIDE)
        for part in _wrap(_machine(machine), width):
            out.print(part, markup=False)
        for line in listed(checks, width):
            out.print(line)
        out.print(summary(words), markup=False)
    raise typer.Exit(2 if "refuse" in words else 1 if "warn" in words else 0)


def word(found: CheckResult) -> str:
    """Return the word shown for a check: "ok", or the severity of what is wrong."""
    return _WORDS[found.level] if found.verdict is Verdict.BAD else found.verdict.value


def listed(checks: Sequence[CheckResult], width: int) -> Iterator[Text]:
    """Yield the lines of the machine's checks by group, worst first, at most ``width`` wide.

    A bad result is followed by its effect and its remedy.
    """
    order = list(_STYLES)
    names = max(len(each.name) for each in checks)
    head = len(_INDENT) + max(map(len, order)) + 1 + names + 1
    for group in dict.fromkeys(each.group for each in checks):
        yield Text(f"\n{group}", style="bold")
        of_group = (each for each in checks if each.group == group)
        for each in sorted(of_group, key=lambda found: order.index(word(found))):
            status = word(each)
            first, *rest = _wrap(each.value, width - head) or [""]
            mark = f"{_INDENT}{status:<{head - names - 1 - len(_INDENT)}}"
            yield Text.assemble((mark, _STYLES[status]), f"{each.name:<{names}} ", first)
            if each.verdict is Verdict.BAD:
                rest += _wrap(each.why, width - head)
                rest += _wrap(f"-> {each.remedy}" if each.remedy else "", width - head, "   ")
            yield from (Text(" " * head + line) for line in rest)


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap a text into lines, but never inside an option or a package name."""
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)


def summary(words: Sequence[str]) -> str:
    """Return a one-line summary of all checks of the machine."""
    counts = {word: words.count(word) for word in _STYLES if word in words}
    reported = ", ".join(f"{count} {word}" for word, count in counts.items())
    end = "not fit to measure" if "refuse" in counts else "fit to measure"
    return f"\n{reported}: {end}"


def _machine(machine: Machine) -> str:
    return (
        f"{machine.hostname}: {machine.cpu_model}, {plural(machine.cores, 'processor')}, "
        f"{memory_gb(machine.memory_bytes)} GB, {machine.storage}, Linux {machine.kernel}"
    )

"""The verb doctor."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import typer
from rich.text import Text

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.execute.ready import ready, tried
from pipeline.machine.checks.base import Found, Level, Look, Verdict
from pipeline.machine.fingerprint import memory_gb
from pipeline.machine.preflight import examine
from pipeline.machine.system import System
from pipeline.model import Machine
from pipeline.store.database import is_newest, open_store
from pipeline.store.queries import last_machine
from pipeline.units import counted

_WORDS = {Level.REFUSE: "refuse", Level.WARN: "warn", Level.IGNORE: "note"}
_STYLES = {
    "refuse": "bold red",
    "warn": "yellow",
    "note": "cyan",
    "unknown": "dim",
    "good": "green",
}
"""What is said of a check, worst first, and its colour."""

_NARROW, _WIDE = 60, 100
"""Columns of text that are easy to read; a terminal of another width gets the nearest."""

_INDENT = "  "


@app.command("doctor")
def doctor_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Report what disturbs measurements on this machine.

    Nothing is changed. Each check is good, or unknown where the machine does not tell; a bad one
    is a reason to refuse a night, to warn, or only a note, as [preflight] in nightshift.toml says.
    The exit code is 2 if a night would be refused, 1 if it would be warned of something, else 0.

    Example: nightshift doctor
    """
    context = Context(config, needed=False)
    store, last = _store(context)
    look = Look(System(folder=context.cache), last)
    checks = [*ready(context.file), store, *examine(look, context.config.preflight.policy())]
    words = [word(each) for each in checks]
    if form is Format.JSON:
        print_json(
            {
                "fit": "refuse" not in words,
                "machine": look.machine.model_dump(mode="json"),
                "checks": [each.model_dump(mode="json") for each in checks],
            }
        )
    else:
        width = min(max(out.width, _NARROW), _WIDE)
        for part in _wrap(_machine(look.machine), width):
            out.print(part, markup=False)
        for line in listed(checks, width):
            out.print(line)
        out.print(summary(words), markup=False)
    raise typer.Exit(2 if "refuse" in words else 1 if "warn" in words else 0)


def word(found: Found) -> str:
    """Return what is said of a check: its level where it is bad, else its verdict."""
    return _WORDS[found.level] if found.verdict is Verdict.BAD else found.verdict.value


def listed(checks: Sequence[Found], width: int) -> Iterator[Text]:
    """Yield lines of at most ``width`` columns: by group, worst first.

    What is bad is told with why that matters and how it is mended.
    """
    order = list(_STYLES)
    names = max(len(each.name) for each in checks)
    head = len(_INDENT) + max(map(len, order)) + 1 + names + 1
    for group in dict.fromkeys(each.group for each in checks):
        yield Text(f"\n{group}", style="bold")
        of_group = (each for each in checks if each.group == group)
        for each in sorted(of_group, key=lambda found: order.index(word(found))):
            said = word(each)
            first, *rest = _wrap(each.value, width - head) or [""]
            mark = f"{_INDENT}{said:<{head - names - 1 - len(_INDENT)}}"
            yield Text.assemble((mark, _STYLES[said]), f"{each.name:<{names}} ", first)
            if each.verdict is Verdict.BAD:
                rest += _wrap(each.why, width - head)
                rest += _wrap(f"-> {each.mend}" if each.mend else "", width - head, "   ")
            yield from (Text(" " * head + line) for line in rest)


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap a text, but never within a command's option or a package's name."""
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)


def summary(words: Sequence[str]) -> str:
    """Return the one line about all checks."""
    counts = {said: words.count(said) for said in _STYLES if said in words}
    told = ", ".join(f"{count} {said}" for said, count in counts.items())
    end = "not fit to measure" if "refuse" in counts else "fit to measure"
    return f"\n{told}: {end}"


def _machine(machine: Machine) -> str:
    return (
        f"{machine.hostname}: {machine.cpu_model}, {counted(machine.cores, 'processor')}, "
        f"{memory_gb(machine.memory_bytes)} GB, {machine.storage}, Linux {machine.kernel}"
    )


def _store(context: Context) -> tuple[Found, Machine | None]:
    """Look into the store for this machine at its last run; one that is not there is not made."""
    last = None

    def opened() -> str:
        nonlocal last
        url = context.config.store.url
        if not url and not (context.config.paths.results / "store.db").exists():
            return "made at the first night"
        store = open_store(context.config.store_url, migrate=False)
        if not is_newest(store):
            return "of an older nightshift; migrated at the next night"
        last = last_machine(store, context.machine.hostname)
        return "in paths.results" if not url else "as store.url says"

    return tried("store", opened, "What is known of earlier nights is there."), last

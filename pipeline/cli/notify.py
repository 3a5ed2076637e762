"""The verb `notify`: report regressions: files, GitHub issues, webhooks."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.notify.base.preview import Preview
from pipeline.storage.journal import Event
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.notify import Notified, notify_detected


@app.command("notify")
def notify_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent; send nothing.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Report regressions: files, GitHub issues, webhooks.

    [notify] sets the sinks (the places to report to). Decisions that people made in them are
    recorded in the journal first.

    Example: nightshift notify --dry-run
    """
    context = MeasuringContext(config, quick)
    shown: list[Preview] = []
    done = notify_detected(context, shown.append if dry_run else None)
    if form is Format.JSON:
        print_json(_as_json(done) | ({"would": shown} if dry_run else {}))
    else:
        lines = [_decided_line(event) for event in done.decided]
        lines += map(_preview_text, shown) if dry_run else done.lines()
        nothing = "nothing would be sent" if dry_run else "no regression to report"
        for line in lines or [nothing]:
            out.print(line, markup=False)
    if done.mistakes:
        raise typer.Exit(2)


def _decided_line(event: Event) -> str:
    return f"{event.fingerprint} is {event.event.value} by {event.by}: {event.note}"


def _preview_text(shown: Preview) -> str:
    """Return as text what would be sent to the sinks: files, or messages as JSON."""
    payload = shown.payload
    if not isinstance(payload, str):
        payload = json.dumps(payload, indent=1, ensure_ascii=False)
    headers = "".join(f"{name}: {value}\n" for name, value in shown.headers.items())
    return f"{shown.sink}: {shown.method} {shown.place}\n{headers}\n{payload}\n"


def _as_json(done: Notified) -> dict[str, Any]:
    return {
        "new": [action.place for action in done.kept if action.new],
        "all": [action.place for action in done.kept],
        "sinks": {
            **done.results,
            **{name: {"mistake": str(error)} for name, error in done.mistakes.items()},
        },
        "decided": done.decided,
    }

"""Show why a regression is slower, as markdown."""

from __future__ import annotations

import math

from pipeline.explain.classify import SlowdownClass
from pipeline.explain.explanation import Explanation, StepExplanation
from pipeline.explain.figures import FigureChange
from pipeline.text.markdown import cell, code, fenced
from pipeline.text.units import plural, show_figure

IN_FULL = 3
"""Maximum number of steps with all evidence; of further steps, only the class is shown."""

MOST_SETTINGS = 15
"""Maximum number of listed changed settings, the most suspect first."""

MOST_FUNCTIONS = 10
"""Maximum number of listed functions, those with the largest increase."""

LEAST_GAIN = 0.05
"""A function is listed only if its increase is at least this share of the largest increase."""


def explanation_markdown(explanation: Explanation) -> str:
    """Return an explanation as markdown: the class, then the evidence, worst step first."""
    lines = [
        f"## Why: {explanation.kind.value}",
        "",
        f"{cell(explanation.first_bad)} against {cell(explanation.last_good)}, "
        f"{explanation.target}.",
        "",
    ]
    for step in explanation.steps[:IN_FULL]:
        lines += _step(step, explanation.fingerprint)
    for step in explanation.steps[IN_FULL:]:
        lines.append(f"- {cell(step.step)} ({cell(step.setup)}): {step.findings[0].kind.value}")
    if explanation.steps[IN_FULL:]:
        lines.append("")
    return "\n".join([*lines, *_settings(explanation)])


def _step(step: StepExplanation, fingerprint: str) -> list[str]:
    lines = [f"### {cell(step.step)} ({cell(step.setup)})", ""]
    for finding in step.findings:
        lines.append(f"- **{finding.kind.value}**")
        lines += [f"  - {cell(sentence)}" for sentence in finding.evidence]
    lines.append("")
    if step.counted is not None and step.counted.functions:
        lines += [
            "| function | instructions before | after | part of the change |",
            "| :--- | ---: | ---: | ---: |",
            *(
                f"| {code(each.function, table=True)} | {show_figure(each.before)} | "
                f"{show_figure(each.after)} | {each.share:+.0%} |"
                for each in step.counted.functions[:MOST_FUNCTIONS]
            ),
            "",
        ]
    moved = [figure for figure in step.figures if figure.moved]
    shown = moved or [figure for figure in step.figures if figure.metric in {"qps", "cpu_us/o"}]
    if shown:
        runs = "{} and {} runs".format(*shown[0].runs)
        lines += [
            "Figures that changed beyond the noise of their repetitions:"
            if moved
            else f"No figure changed beyond the noise of its repetitions ({runs}):",
            "",
            "| figure | before | after | ratio | 95 % interval |",
            "| :--- | ---: | ---: | ---: | :---: |",
            *(_figure(figure) for figure in shown),
            "",
        ]
        if step.again:
            runs = "{} runs before and {} after".format(*shown[0].runs)
            lines += [f"From {runs} of the experiment that confirmed it.", ""]
    for change in step.plans:
        reported = [
            *(f"- {line}" for line in change.before.splitlines()),
            *(f"+ {line}" for line in change.after.splitlines()),
        ]
        lines += [code(change.statement), "", fenced("\n".join(reported), "diff"), ""]
    most = max((function.gained for function in step.functions), default=0.0)
    gained = [
        function
        for function in step.functions[:MOST_FUNCTIONS]
        if function.gained > 0 and function.gained >= LEAST_GAIN * most
    ]
    if gained:
        lines += [
            "| function | self before | self after | gained | with all it calls |",
            "| :--- | ---: | ---: | ---: | ---: |",
            *(
                f"| {code(each.name, table=True)} | {each.own_before:.3g} | {each.own_after:.3g} | "
                f"{each.gained:+.3g} | {each.total_after - each.total_before:+.3g} |"
                for each in gained
            ),
            "",
            "In microseconds of CPU time per operation, or in percent if that is unknown.",
            "",
        ]
    if step.pictures:
        names = ", ".join(map(code, step.pictures))
        lines += [f"Flame graphs in `results/explained/{fingerprint}/`: {names}.", ""]
    return lines


def _figure(figure: FigureChange) -> str:
    unit = f" ({figure.unit})" if figure.unit not in {"", "count", "ratio"} else ""
    ratio = f"{figure.ratio:.2f}" if math.isfinite(figure.ratio) else "–"
    ends = (figure.low, figure.high)
    known = all(math.isfinite(end) for end in ends)
    interval = "{:.2f} to {:.2f}".format(*ends) if known else "–"
    return (
        f"| {cell(figure.metric)}{unit} | {show_figure(figure.before)} | "
        f"{show_figure(figure.after)} | {ratio} | {interval} |"
    )


def _settings(explanation: Explanation) -> list[str]:
    lines = [f"### Settings: {cell(explanation.settings.summary)}", ""]
    if explanation.suspects:
        lines += [
            "| setting | before | after |",
            "| :--- | :--- | :--- |",
            *(
                f"| {code(each.name, table=True)} | {cell(each.old)} | {cell(each.new)} |"
                for each in explanation.suspects[:MOST_SETTINGS]
            ),
            "",
        ]
        more = len(explanation.suspects) - MOST_SETTINGS
        if more > 0:
            lines += [f"And {plural(more, 'more changed setting')}.", ""]
    if explanation.trials:
        lines += [f"- {cell(trial.sentence())}" for trial in explanation.trials]
        lines.append("")
    elif explanation.suspects and explanation.kind is not SlowdownClass.CHANGED_DEFAULT:
        lines += [
            "None of these settings was tested. To run the new revision with the old values:",
            "",
            f"    nightshift explain {explanation.fingerprint} --test",
            "",
        ]
    return lines

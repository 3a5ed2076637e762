"""The rules that turn what was recorded into a word, with the figures that say so.

They are written down, with the reasons of their constants, in docs/explaining.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

from pipeline.analyse.explain.figures import FigureChange
from pipeline.analyse.explain.functions import FunctionChange
from pipeline.analyse.explain.plans import PlanChange
from pipeline.analyse.explain.trial import Trial, causes
from pipeline.model import Frozen


class Kind(StrEnum):
    """Why a step is slower, in the order in which reasons are believed: causes, then symptoms."""

    SLA = "SLA"
    CHANGED_DEFAULT = "changed default"
    PLAN = "plan change"
    CPU = "CPU"
    CONTENTION = "contention"
    IO = "IO"
    VARIANCE = "variance"
    UNKNOWN = "unknown"


class Finding(Frozen):
    """One reason, with the sentences that are evidence of it."""

    kind: Kind
    evidence: tuple[str, ...]


PROPORTION = 0.5
"""Part of the lost throughput that a cost per operation has to account for, both as logarithms."""

MORE = 1.5
"""How many times the growth of the CPU time, as logarithms, is *more* than it."""

LEAST_IO: Mapping[str, float] = {"r/o": 0.01, "w/o": 0.01, "rKB/o": 0.1, "wKB/o": 0.1}
"""Growth per operation below which storage is not why: a request in a hundred operations, or a
page in forty. In the unit of the metric."""

LEAST_SWITCHES = 0.01
"""Growth of the context switches per operation below which they are not why: each costs some
microseconds (Li, Ding and Shen 2007), and one in a hundred operations some tens of nanoseconds."""

_SWITCHES = ("server_cs/o", "cs/o")
_COUNTERS = (
    "instructions/o",
    "cycles/o",
    "branch_misses/o",
    "cache_misses/o",
    "dtlb_misses/o",
    "itlb_misses/o",
    "page_faults/o",
)
_SPREAD = ("qps_cv", "qps_p1", "stall_s", "latency_p99")
_LEVEL = ("qps", "latency_avg", "latency_p50", "latency_p95", "latency_p99")


def classify(
    figures: Sequence[FigureChange],
    detected: Collection[str],
    plans: Sequence[PlanChange],
    missed: Sequence[str],
    trials: Sequence[Trial],
    spread: Sequence[str] = (),
    functions: Sequence[FunctionChange] = (),
) -> tuple[Finding, ...]:
    """Return the reasons for a step being slower, the first one being its class; one at least.

    ``detected`` are the metrics whose series are known to be worse, whatever two revisions alone
    can show; ``missed`` says which rates the step failed to sustain that it sustained before, and
    ``spread`` of which metrics the noise is known to be more, a sentence each. ``functions`` are
    those of the differential profile.
    """
    by_name = {figure.metric: figure for figure in figures}

    def worse(*names: str) -> list[FigureChange]:
        return [
            by_name[name]
            for name in names
            if name in by_name and (by_name[name].verdict == "worse" or name in detected)
        ]

    found = [
        Finding(kind=Kind.SLA, evidence=tuple(missed)),
        Finding(
            kind=Kind.CHANGED_DEFAULT, evidence=tuple(trial.sentence() for trial in causes(trials))
        ),
        Finding(kind=Kind.PLAN, evidence=tuple(_plan_sentence(change) for change in plans)),
    ]
    lost = max([0.0, *(-figure.growth for figure in worse("qps"))])
    level = worse(*_LEVEL)
    (cpu,) = worse("cpu_us/o") or (None,)
    cost = max(cpu.growth, 0.0) if cpu is not None else 0.0
    switches = [
        figure
        for figure in worse(*_SWITCHES)
        if figure.after - figure.before >= LEAST_SWITCHES and figure.growth > MORE * cost
    ]
    storage = [
        figure
        for figure in worse(*LEAST_IO)
        if figure.after - figure.before >= LEAST_IO[figure.metric]
        and figure.growth > MORE * cost
        and figure.growth >= PROPORTION * lost
    ]
    found += [
        Finding(
            kind=Kind.CPU,
            evidence=(
                *_sentences([cpu, *worse("qps"), *worse(*_COUNTERS)]),
                *_mostly(functions, cpu),
            )
            if cpu is not None and cost >= PROPORTION * lost and not (switches and level)
            else (),
        ),
        Finding(
            kind=Kind.CONTENTION,
            evidence=_sentences(
                [*switches, *worse("cpu_us/o", "qps")] if level and switches else []
            ),
        ),
        Finding(
            kind=Kind.IO,
            evidence=_sentences([*storage, *worse("qps")] if level and storage else []),
        ),
        Finding(
            kind=Kind.VARIANCE,
            evidence=(*spread, *_sentences([] if worse("qps") else worse(*_SPREAD))),
        ),
    ]
    told = tuple(finding for finding in found if finding.evidence)
    return told or (Finding(kind=Kind.UNKNOWN, evidence=_open(figures, worse("qps"))),)


def _sentences(figures: Sequence[FigureChange]) -> tuple[str, ...]:
    return tuple(figure.sentence() for figure in figures)


def _mostly(functions: Sequence[FunctionChange], cpu: FigureChange) -> tuple[str, ...]:
    """Name the functions that by themselves cost most of what an operation costs more."""
    least = PROPORTION * (cpu.after - cpu.before)
    return tuple(each.sentence() for each in functions if each.gained >= least > 0)


def _plan_sentence(change: PlanChange) -> str:
    first = (plan.splitlines()[0].strip() if plan else "no plan" for plan in _differing(change))
    before, after = first
    return f"{change.statement}: {before} -> {after}"


def _differing(change: PlanChange) -> tuple[str, str]:
    """Return the rest of both plans from the first line on that is not the same."""
    before, after = change.before.splitlines(), change.after.splitlines()
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return "\n".join(before[same:]), "\n".join(after[same:])


def _open(figures: Sequence[FigureChange], lost: Sequence[FigureChange]) -> tuple[str, ...]:
    """Say what there is to say where no rule fits."""
    said = list(_sentences(lost))
    undecided = sum(figure.verdict == "undecided" for figure in figures)
    if undecided:
        runs = "with {} and {} repetitions".format(*figures[0].runs)
        said.append(f"{runs}, {undecided} of {len(figures)} figures could not be told from noise")
    return tuple(said) or ("nothing that was recorded moved with it",)

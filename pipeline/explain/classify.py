"""Rules that decide why a step is slower, with figures as evidence.

docs/guide/explaining.md documents the rules and the reasons for their constants.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

from pipeline.explain.counted_change import CountedChange
from pipeline.explain.figures import FigureChange
from pipeline.explain.functions import FunctionChange
from pipeline.explain.layout_trial import LayoutOutcome, LayoutTrial
from pipeline.explain.plans import PlanChange
from pipeline.explain.trial import Trial, causes
from pipeline.explain.waits import WaitChange
from pipeline.model import Frozen
from pipeline.model.counts import FLOOR


class SlowdownClass(StrEnum):
    """The reasons why a step can be slower, most credible first."""

    SLA = "SLA"
    CHANGED_DEFAULT = "changed default"
    PLAN = "plan change"
    INSTRUCTIONS = "CPU: more instructions"
    CPU = "CPU"
    CONTENTION = "contention"
    IO = "IO"
    WAITING = "waiting"
    CACHE = "cache misses at equal instructions"
    LAYOUT = "layout effect"
    EQUAL_INSTRUCTIONS = "slower at equal instructions"
    NO_SLOWER = "more instructions, no slower"
    VARIANCE = "variance"
    UNKNOWN = "unknown"


class Reason(Frozen):
    """One reason why a step is slower, with sentences of evidence."""

    kind: SlowdownClass
    evidence: tuple[str, ...]


PROPORTION = 0.5
"""Smallest growth of a cost per operation that explains a slowdown, as a share of the loss of
throughput. Both are logarithms of a ratio."""

MORE = 1.5
"""How many times the growth of CPU time another cost must grow to be the reason instead. Both are
logarithms of a ratio."""

LEAST_IO: Mapping[str, float] = {"r/o": 0.01, "w/o": 0.01, "rKB/o": 0.1, "wKB/o": 0.1}
"""Growth per operation below which storage is not the reason: a request in a hundred operations, or
a page in forty. In the unit of the metric."""

LEAST_SWITCHES = 0.01
"""Growth of the context switches per operation below which they are not the reason. Each costs some
microseconds (Li, Ding and Shen 2007), so one in a hundred operations costs some tens of
nanoseconds."""

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
    counted: CountedChange | None = None,
    layout: LayoutTrial | None = None,
    waits: Sequence[WaitChange] = (),
) -> tuple[Reason, ...]:
    """Return the reasons why a step is slower, at least one; the first is its class.

    ``detected`` are the metrics whose series became worse; they count as worse even if the
    comparison of the two revisions does not show it. ``missed`` names the rates that the step
    sustained before and no longer sustains, ``spread`` the metrics whose noise increased, one
    sentence each. ``functions`` is the differential profile, ``counted`` the counted instructions,
    ``layout`` a trial of the step in other layouts, ``waits`` what its statements wait for more
    than before. Growth of CPU time at equal instructions is not
    classified as CPU time, because its cause is caches or the layout of the code.
    """
    by_name = {figure.metric: figure for figure in figures}

    def worse(*names: str) -> list[FigureChange]:
        return [
            by_name[name]
            for name in names
            if name in by_name and (by_name[name].verdict == "worse" or name in detected)
        ]

    found = [
        Reason(kind=SlowdownClass.SLA, evidence=tuple(missed)),
        Reason(
            kind=SlowdownClass.CHANGED_DEFAULT,
            evidence=tuple(trial.sentence() for trial in causes(trials)),
        ),
        Reason(kind=SlowdownClass.PLAN, evidence=tuple(_plan_sentence(change) for change in plans)),
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
    cpu_evidence = (
        (*_sentences([cpu, *worse("qps"), *worse(*_COUNTERS)]), *_mostly(functions, cpu))
        if cpu is not None and cost >= PROPORTION * lost and not (switches and level)
        else ()
    )
    # Waiting that explains less than half of the lost time is not the reason.
    least_waiting = PROPORTION * -math.expm1(-lost)
    waiting = tuple(each.sentence() for each in waits if each.growth >= least_waiting)
    equal = counted is not None and counted.equal
    found += [
        Reason(kind=SlowdownClass.INSTRUCTIONS, evidence=_more(counted, lost)),
        Reason(kind=SlowdownClass.CPU, evidence=() if equal else cpu_evidence),
        Reason(
            kind=SlowdownClass.CONTENTION,
            evidence=(*waiting, *_sentences([*switches, *worse("cpu_us/o", "qps")]))
            if level and switches
            else (),
        ),
        Reason(
            kind=SlowdownClass.IO,
            evidence=(*waiting, *_sentences([*storage, *worse("qps")]))
            if level and storage
            else (),
        ),
        Reason(
            kind=SlowdownClass.WAITING,
            evidence=(*waiting, *_sentences(worse("qps")))
            if level and waiting and not switches and not storage
            else (),
        ),
        *_at_equal_instructions(
            counted, layout, cpu_evidence or _sentences(level), max(lost, cost)
        ),
        Reason(
            kind=SlowdownClass.NO_SLOWER,
            evidence=counted.sentences
            if counted is not None and counted.slower is False and counted.effect > FLOOR
            else (),
        ),
        Reason(
            kind=SlowdownClass.VARIANCE,
            evidence=(*spread, *_sentences([] if worse("qps") else worse(*_SPREAD))),
        ),
    ]
    reported = tuple(finding for finding in found if finding.evidence)
    return reported or (Reason(kind=SlowdownClass.UNKNOWN, evidence=_open(figures, worse("qps"))),)


def _at_equal_instructions(
    counted: CountedChange | None,
    layout: LayoutTrial | None,
    slower: tuple[str, ...],
    growth: float,
) -> list[Reason]:
    """Return the reason why a step is slower at equal instructions; empty if it is not.

    A layout trial distinguishes the layout of the code, the cache and waiting. ``slower`` is the
    evidence that the step is slower, ``growth`` the size of the slowdown, as a logarithm.
    """
    if counted is None or not counted.equal or not slower:
        return []
    trial = layout.sentences() if layout is not None else ()
    kind, causes = SlowdownClass.EQUAL_INSTRUCTIONS, "waiting, cache or layout"
    if layout is not None and layout.moves:
        kind, causes = SlowdownClass.LAYOUT, "the layout of the code, not the code"
    elif layout is not None and layout.outcome is LayoutOutcome.STAYS:
        causes = "waiting or cache"
        if max((each.growth for each in layout.misses), default=0.0) >= growth:
            kind, causes = SlowdownClass.CACHE, "cache"
    return [Reason(kind=kind, evidence=(counted.sentence, causes, *trial, *slower))]


def _more(counted: CountedChange | None, lost: float) -> tuple[str, ...]:
    """Return the evidence that more instructions explain a slowdown; empty if they do not."""
    if counted is None or counted.slower is False or counted.effect <= FLOOR:
        return ()
    return counted.sentences if math.log1p(counted.effect) >= PROPORTION * lost else ()


def _sentences(figures: Sequence[FigureChange]) -> tuple[str, ...]:
    return tuple(figure.sentence() for figure in figures)


def _mostly(functions: Sequence[FunctionChange], cpu: FigureChange) -> tuple[str, ...]:
    """Name the functions that use most of the additional CPU time per operation."""
    least = PROPORTION * (cpu.after - cpu.before)
    return tuple(each.sentence() for each in functions if each.gained >= least > 0)


def _plan_sentence(change: PlanChange) -> str:
    first = (plan.splitlines()[0].strip() if plan else "no plan" for plan in _differing(change))
    before, after = first
    return f"{change.statement}: {before} -> {after}"


def _differing(change: PlanChange) -> tuple[str, str]:
    """Return the parts of two query plans from the first line that differs."""
    before, after = change.before.splitlines(), change.after.splitlines()
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return "\n".join(before[same:]), "\n".join(after[same:])


def _open(figures: Sequence[FigureChange], lost: Sequence[FigureChange]) -> tuple[str, ...]:
    """Describe what the figures of a step show, if no rule explains why it is slower."""
    sentences = list(_sentences(lost))
    undecided = sum(figure.verdict == "undecided" for figure in figures)
    if undecided:
        runs = "with {} and {} repetitions".format(*figures[0].runs)
        sentences.append(
            f"{runs}, {undecided} of {len(figures)} figures could not be distinguished from noise"
        )
    return tuple(sentences) or ("no recorded figure changed with it",)

"""Explanations of counted regressions, from the counts of both sides."""

from __future__ import annotations

from pipeline.explain.call_tree import call_tree
from pipeline.explain.classify import Reason, SlowdownClass
from pipeline.explain.counted_change import CountedChange
from pipeline.explain.explanation import Explanation, StepExplanation
from pipeline.explain.function_costs import function_cost_changes, instructions_sentence
from pipeline.explain.settings import compare_settings
from pipeline.model import Regression, StepCounts


def counted_explanation(
    regression: Regression, before: StepCounts, after: StepCounts
) -> Explanation:
    """Return the explanation of a regression by the functions of its first step."""
    functions = function_cost_changes(before, after)
    change = CountedChange(
        before=before.instructions,
        after=after.instructions,
        sentence=instructions_sentence("rows", before, after, functions),
        functions=functions,
        slower=False,
        calls=call_tree(before, after),
    )
    step = StepExplanation(
        step=regression.shifts[0].series.step,
        setup="counted, x10a, 1 client",
        findings=(Reason(kind=SlowdownClass.INSTRUCTIONS, evidence=(change.sentence,)),),
        figures=(),
        plans=(),
        functions=(),
        counted=change,
    )
    return Explanation(
        fingerprint=regression.fingerprint,
        line=regression.line,
        target=regression.target,
        last_good=regression.last_good,
        first_bad=regression.first_bad,
        kind=SlowdownClass.INSTRUCTIONS,
        steps=(step,),
        settings=compare_settings({}, {}),
        suspects=(),
        trials=(),
    )

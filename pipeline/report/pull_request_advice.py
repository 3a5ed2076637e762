"""What the reader of a report does next, for a pull request and for a pushed branch."""

from __future__ import annotations

from pipeline.notify.base.pull_request import PullRequestOutcome

_PULL_REQUEST = {
    PullRequestOutcome.PASSED: "There is nothing to do.",
    PullRequestOutcome.REGRESSION: (
        "**What to do:** fix the cause in this change and push, which is measured again (the "
        "command below measures the changed steps on your machine). Or, if the change is worth it, "
        "have somebody who may write to this repository accept it with the comment `/nightshift "
        "accept REASON`. If this check is required, the pull request cannot be merged before "
        "either."
    ),
    PullRequestOutcome.UNDECIDED: (
        "The measurement was not precise enough for the rows that are undecided: neither a "
        "regression nor its absence is shown there. **What to do:** comment `/nightshift "
        "mode=count`, which counts instructions instead of timing and is precise on a noisy "
        "machine, or measure for longer with a larger `budget` in the workflow. This check does "
        "not block."
    ),
    PullRequestOutcome.COULD_NOT_BUILD: (
        "The head of this pull request did not build, so whether it is slower is unknown. **What "
        "to do:** fix the error and push; the log of the run has all of the compiler's messages. "
        "If this check is required, the pull request cannot be merged before that."
    ),
    PullRequestOutcome.COULD_NOT_RUN: (
        "Whether this change is slower is unknown. **What to do:** a maintainer corrects what the "
        "reason names, and starts the measurement again with the comment `/nightshift`. If this "
        "check is required, the pull request cannot be merged before that."
    ),
    PullRequestOutcome.NOT_MEASURED: (
        "Whether this change is slower is unknown, because the measurement ended without a "
        "result. **What to do:** comment `/nightshift` to measure again; the log of the run says "
        "more about the reason. This check does not block."
    ),
}
"""What the reader should do next about a pull request, by outcome."""

_MACHINE_CHANGED = (
    "Base was measured twice, and the two differed although the code is the same. So nothing can "
    "be said about this change, and the intervals below do not hold. **What to do:** comment "
    "`/nightshift` to measure again, or `/nightshift mode=count`, which counts instructions "
    "instead of timing and is precise on a noisy machine. This check does not block."
)
"""What the reader should do next if the machine changed."""

_BRANCH = {
    PullRequestOutcome.PASSED: "There is nothing to do.",
    PullRequestOutcome.REGRESSION: (
        "**What to do:** fix the cause in this change and push, which is measured again (the "
        "command below measures the changed steps on your machine). Or, if the change is worth it, "
        "leave it as it is: this check blocks only a pull request of this commit that requires it."
    ),
    PullRequestOutcome.UNDECIDED: (
        "The measurement was not precise enough for the rows that are undecided: neither a "
        "regression nor its absence is shown there. **What to do:** set `mode: count` in the "
        "workflow, which counts instructions instead of timing and is precise on a noisy machine, "
        "or measure for longer with a larger `budget`. This check does not block."
    ),
    PullRequestOutcome.COULD_NOT_BUILD: (
        "The head of this branch did not build, so whether it is slower is unknown. **What to "
        "do:** fix the error and push; the log of the run has all of the compiler's messages."
    ),
    PullRequestOutcome.COULD_NOT_RUN: (
        "Whether this change is slower is unknown. **What to do:** a maintainer corrects what the "
        "reason names, and re-runs the jobs on the page of the run."
    ),
    PullRequestOutcome.NOT_MEASURED: (
        "Whether this change is slower is unknown, because the measurement ended without a "
        "result. **What to do:** re-run the jobs on the page of the run; its log says more about "
        "the reason. This check does not block."
    ),
}
"""What the reader should do next about a pushed branch, where nobody can comment, by outcome."""

_BRANCH_MACHINE_CHANGED = (
    "Base was measured twice, and the two differed although the code is the same. So nothing can "
    "be said about this change, and the intervals below do not hold. **What to do:** re-run the "
    "jobs on the page of the run, or set `mode: count` in the workflow, which counts instructions "
    "instead of timing and is precise on a noisy machine. This check does not block."
)
"""What the reader should do next about a pushed branch if the machine changed."""


def advice(outcome: PullRequestOutcome, *, branch: bool = False, moved: bool = False) -> str:
    """Return what the reader should do next, as markdown.

    ``branch`` says that a pushed branch was measured instead of a pull request. ``moved`` says that
    the machine changed during the measurement.
    """
    if moved:
        return _BRANCH_MACHINE_CHANGED if branch else _MACHINE_CHANGED
    return (_BRANCH if branch else _PULL_REQUEST)[outcome]

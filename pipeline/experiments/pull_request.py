"""The measurement of a pull request as one file, ``answer.json``, for transfer to another job.

The measuring machine runs untrusted code, so its file is untrusted too. The file holds numbers and
names only, no verdict and no markdown. The publisher recomputes the verdict from the runs
(:func:`pipeline.experiments.interleaved.judged`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from pipeline import __version__
from pipeline.config.config_errors import NAME
from pipeline.experiments.compare import TwoSideComparison
from pipeline.experiments.experiment import Figure, Figures, Runner
from pipeline.experiments.interleaved import ANEW, BLOCKS, Block, Pair, Question, judged
from pipeline.experiments.record import Experiment
from pipeline.model import Cell, Frozen, FunctionCostChange, Mode
from pipeline.model.metrics import METRICS

ANSWER = "answer.json"
"""The file with the measurements of a pull request."""

REASON = 300
"""Maximum length of the reason why a pull request could not be measured, in characters."""

FIGURES = 500
"""Maximum number of figures: the steps of a workload times a few metrics."""

FUNCTIONS = 5
"""Maximum number of functions per counted step: those with the largest part of its change."""

LONGEST_FUNCTION = 200
"""Maximum length of a function's name, in characters; longer names, such as those of C++ templates,
are cut."""

_LEAST, _MOST = 1e-9, 1e15
"""Range of levels that can be compared. Every figure of a real run is in this range, or zero."""

_LABEL = r"^[A-Za-z0-9][A-Za-z0-9._+#-]*$"
_STEP = r"^[A-Za-z0-9][A-Za-z0-9._=+-]*$"
_PRINTABLE = r"^[ -~]*$"
_COMMIT = r"^([0-9a-f]{40}|[0-9a-f]{64})?$"

_LINK = re.compile(r"www\.|gh-\d", re.IGNORECASE)


def _no_link(name: str) -> str:
    """Reject a name that GitHub would turn into a link."""
    if _LINK.search(name):
        raise ValueError("a name must not contain a URL")
    return name


Name = Annotated[str, Field(pattern=NAME, max_length=80), AfterValidator(_no_link)]
StepName = Annotated[str, Field(pattern=_STEP, max_length=80), AfterValidator(_no_link)]
Level = Annotated[float, Field(ge=0.0, le=_MOST, allow_inf_nan=False)] | None


NoAnswerCause = Literal["", "build", "request"]
"""Why there is no measurement: the build of head failed, the request has a mistake or takes too
long, or (empty) the machine or the job failed."""


class _Told(Frozen):
    """The base of all types in the file ``answer.json``: strict, without unknown fields."""

    model_config = ConfigDict(strict=True)


class PullRequestSide(_Told):
    """One side of a measured pull request: its full commit hash, and its names in tables."""

    commit: str = Field(pattern=_COMMIT)
    label: str = Field(pattern=_LABEL, max_length=80)
    options: Name
    config: Name

    def written(self, target: str) -> str:
        """Return the side as an argument of ``nightshift compare`` in a clone of the repository."""
        place = f".#{self.commit}" if self.commit else self.label
        return f"{target}:{place}@{self.options}+{self.config}"


class Levels(_Told):
    """The values of one metric of a step, one for each block of runs; null where a run failed."""

    step: StepName
    metric: str = Field(max_length=80)
    base: tuple[Level, ...] = Field(max_length=BLOCKS)
    head: tuple[Level, ...] = Field(max_length=BLOCKS)
    control: tuple[Level, ...] = Field(max_length=BLOCKS)
    """Null in every block of a counted run, which has no control."""

    @property
    def figure(self) -> Figure:
        """The metric and the step that the values belong to."""
        return Figure(self.step, self.metric)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Reject a metric that nightshift does not know."""
        if self.metric not in METRICS:
            raise ValueError("unknown metric")
        if not len(self.base) == len(self.head) == len(self.control):
            raise ValueError("each block must have a run of base, of head and of the control")
        if any(level and level < _LEAST for level in (*self.base, *self.head, *self.control)):
            raise ValueError("a level is positive but below the smallest accepted value")
        return self


class FunctionOfStep(_Told):
    """A function whose cost in a counted step changed; see :class:`FunctionCostChange`."""

    step: StepName
    function: str = Field(pattern=_PRINTABLE, min_length=1, max_length=LONGEST_FUNCTION)
    before: float = Field(ge=0.0, le=_MOST, allow_inf_nan=False)
    after: float = Field(ge=0.0, le=_MOST, allow_inf_nan=False)
    share: float = Field(ge=-_MOST, le=_MOST, allow_inf_nan=False)


class PullRequestRuns(_Told):
    """All runs that measured a pull request, with the question and the time spent."""

    target: str = Field(pattern=r"^[a-z]+$", max_length=20)
    base: PullRequestSide
    head: PullRequestSide
    machine_class: Name
    workload: Name
    smallest_effect: float = Field(gt=0, lt=1)
    budget: float = Field(gt=0, le=1e6)
    seconds: float = Field(ge=0, le=1e6)
    # Omitted for timed runs: a publisher from before counted ones refuses the field.
    mode: Literal["time", "count"] = Field(default="time", exclude_if=lambda mode: mode == "time")
    levels: tuple[Levels, ...] = Field(min_length=1, max_length=FIGURES)
    functions: tuple[FunctionOfStep, ...] = Field(
        default=(), max_length=FIGURES * FUNCTIONS, exclude_if=lambda functions: not functions
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Reject metrics that occur twice or have different numbers of blocks."""
        if len({each.figure for each in self.levels}) < len(self.levels):
            raise ValueError("a figure appears twice")
        if len({len(each.base) for each in self.levels}) > 1:
            raise ValueError("all figures must have the same number of blocks")
        return self

    def comparison(self, smallest: float | None = None) -> TwoSideComparison:
        """Return the verdict on the runs; ``smallest`` overrides the smallest effect."""
        question = Question(
            figures=tuple(each.figure for each in self.levels),
            smallest_effect=smallest or self.smallest_effect,
            seconds=self.budget,
            anew=ANEW,
        )
        base, head = (
            f"{self.target} {side.label} {side.options} {side.config}"
            for side in (self.base, self.head)
        )
        return TwoSideComparison(
            base=base,
            head=head,
            workload=self.workload,
            machine_class=self.machine_class,
            question=question,
            answer=judged(question, self._blocks(), self.seconds, Mode(self.mode)),
            mode=Mode(self.mode),
            functions={
                step: tuple(
                    FunctionCostChange(
                        function=each.function,
                        binary="",
                        before=each.before,
                        after=each.after,
                        share=each.share,
                    )
                    for each in self.functions
                    if each.step == step
                )
                for step in dict.fromkeys(each.step for each in self.functions)
            },
        )

    def _blocks(self) -> Iterator[Block]:
        def run(at: int, side: Callable[[Levels], tuple[Level, ...]]) -> Figures:
            found = {each.figure: side(each)[at] for each in self.levels}
            return {figure: level for figure, level in found.items() if level is not None}

        for at in range(len(self.levels[0].base)):
            yield (
                run(at, lambda each: each.base),
                run(at, lambda each: each.head),
                run(at, lambda each: each.control),
            )


class PullRequestAnswer(_Told):
    """The content of ``answer.json``: the runs or, without any, the reason in one line."""

    schema_version: Literal[1] = 1
    nightshift: str = Field(default=__version__, pattern=_LABEL, max_length=40)
    status: Literal["measured", "could not run"]
    reason: str = Field(default="", pattern=_PRINTABLE, max_length=REASON)
    # Omitted where the cause is the machine: a publisher from before causes refuses the field.
    cause: NoAnswerCause = Field(default="", exclude_if=lambda cause: not cause)
    measured: PullRequestRuns | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        """Reject a file with both runs and a reason, or with neither."""
        if (self.measured is None) != (self.status == "could not run") or bool(self.reason) == (
            self.measured is not None
        ):
            raise ValueError("give either runs or a reason, but not both")
        return self


def read_answer(data: bytes) -> PullRequestAnswer:
    """Parse an ``answer.json``. Raises ValueError with a readable message if it is invalid."""
    try:
        return PullRequestAnswer.model_validate_json(data)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        at = plain(where)[:80] or "its beginning"
        raise ValueError(f"{ANSWER} is invalid at {at}") from None


def could_not_run(reason: str, cause: NoAnswerCause = "") -> PullRequestAnswer:
    """Return the content of ``answer.json`` for a pull request that could not be measured."""
    return PullRequestAnswer(
        status="could not run", reason=plain(reason)[:REASON] or "no reason is known", cause=cause
    )


def plain(text: str) -> str:
    """Return untrusted text as one line of printable ASCII, without commands to GitHub workflows.

    GitHub's runner interprets lines that begin with ``::`` as commands, and ``##[`` anywhere.
    """
    line = re.sub(r"[^ -~]+", "?", " ".join(text.split()))
    line = re.sub(r"#(?=#\[)", "# ", line)
    return re.sub(r"^:(?=:)", ": ", line)


class RecordingRunner:
    """Wraps a runner, and records the values that it measures."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int], Figures] = {}

    def around(self, runner: Runner) -> Runner:
        """Return a runner that calls the given one and records what it measures."""
        return _Recorded(runner, self._seen)

    def blocks(self, pair: Pair) -> list[Block]:
        """Return the complete blocks of runs recorded for two cells."""
        found: list[Block] = []
        for number in count(1):
            base, head, control = (
                self._seen.get((cell.key, number)) for cell in (pair.base, pair.head, pair.control)
            )
            if pair.mode is Mode.COUNT:
                control = {}
            if base is None or head is None or control is None:
                break
            found.append((base, head, control))
        return found


class _Recorded:
    def __init__(self, runner: Runner, seen: dict[tuple[str, int], Figures]) -> None:
        self._runner, self._seen = runner, seen

    def prepare(self, cell: Cell) -> None:
        """Make the build of a cell with the wrapped runner."""
        self._runner.prepare(cell)

    def built(self, cell: Cell) -> bool:
        """Whether the wrapped runner has the build of a cell."""
        return self._runner.built(cell)

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Run a cell with the wrapped runner, and record the values."""
        figures = self._runner.measure(cell, attempt)
        self._seen[cell.key, attempt] = figures
        return figures


def answer_of(
    experiment: Experiment,
    blocks: list[Block],
    seconds: float,
    functions: Mapping[str, Sequence[FunctionCostChange]],
) -> PullRequestAnswer:
    """Return the answer for a measured experiment, with the ``functions`` of its counted steps."""
    question = experiment.question

    def runs(figure: Figure, side: int) -> tuple[float | None, ...]:
        return tuple(block[side].get(figure) for block in blocks)

    measured = PullRequestRuns(
        target=experiment.head.revision.target,
        base=_side(experiment.base),
        head=_side(experiment.head),
        machine_class=experiment.base.machine_class,
        workload=experiment.base.workload.name,
        smallest_effect=question.smallest_effect,
        budget=question.seconds,
        seconds=seconds,
        mode=experiment.pair.mode.value,
        levels=tuple(
            Levels(
                step=figure.step,
                metric=figure.metric,
                base=runs(figure, 0),
                head=runs(figure, 1),
                control=runs(figure, 2),
            )
            for figure in question.figures
        ),
        functions=tuple(
            FunctionOfStep(
                step=step,
                function=plain(each.function)[:LONGEST_FUNCTION] or "?",
                before=max(each.before, 0.0),
                after=max(each.after, 0.0),
                share=each.share,
            )
            for step, found in functions.items()
            for each in found[:FUNCTIONS]
        ),
    )
    return PullRequestAnswer(status="measured", measured=measured)


def _side(cell: Cell) -> PullRequestSide:
    revision = cell.revision
    commit = revision.locator if re.fullmatch(_COMMIT, revision.locator) else ""
    # A folder's state has the same kind of hash as a commit.
    changed = revision.supply is None or revision.supply.kind != "git"
    return PullRequestSide(
        commit="" if changed else commit,
        label=revision.label,
        options=cell.build_options,
        config=cell.config.family,
    )

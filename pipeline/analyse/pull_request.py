"""What was measured of a pull request, as one file that travels: ``answer.json``.

Whoever measures runs code of strangers, so that nothing the file says can be taken on trust. It
holds numbers and names only, no verdict and no markdown: what is told of a pull request is worked
out anew from the runs by whoever publishes it, with :func:`pipeline.analyse.interleaved.judged`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from pipeline import __version__
from pipeline.analyse.compare import Comparison
from pipeline.analyse.experiment import Figure, Figures, Runner
from pipeline.analyse.interleaved import ANEW, BLOCKS, Block, Pair, Question, judged
from pipeline.analyse.record import Experiment
from pipeline.metrics import METRICS
from pipeline.mistakes import NAME
from pipeline.model import Cell, Frozen

ANSWER = "answer.json"
"""What came of measuring a pull request, in the folder that the measuring leaves."""

REASON = 300
"""Characters that the reason may have for which a pull request could not be measured."""

FIGURES = 500
"""Figures, at most: the steps of a workload times a few metrics."""

_LEAST, _MOST = 1e-9, 1e15
"""Levels that can be compared; no figure of a real run is outside, but for zero."""

_LABEL = r"^[A-Za-z0-9][A-Za-z0-9._+#-]*$"
_STEP = r"^[A-Za-z0-9][A-Za-z0-9._=+-]*$"
_PRINTABLE = r"^[ -~]*$"
_COMMIT = r"^([0-9a-f]{40}|[0-9a-f]{64})?$"

_LINK = re.compile(r"www\.|gh-\d", re.IGNORECASE)


def _no_link(name: str) -> str:
    """Refuse a name of which GitHub would make a link to a page or to an issue."""
    if _LINK.search(name):
        raise ValueError("a name is no link")
    return name


Name = Annotated[str, Field(pattern=NAME, max_length=80), AfterValidator(_no_link)]
StepName = Annotated[str, Field(pattern=_STEP, max_length=80), AfterValidator(_no_link)]
Level = Annotated[float, Field(ge=0.0, le=_MOST, allow_inf_nan=False)] | None


class _Told(Frozen):
    """Base of what stands in the file: of the types that it should be, and nothing besides."""

    model_config = ConfigDict(strict=True)


class Side(_Told):
    """One side: ``commit`` in full, empty for what is none, and its names in tables."""

    commit: str = Field(pattern=_COMMIT)
    label: str = Field(pattern=_LABEL, max_length=80)
    options: Name
    config: Name

    def written(self, target: str) -> str:
        """Return the side as ``nightshift compare`` takes it, in a clone of the repository."""
        place = f".#{self.commit}" if self.commit else self.label
        return f"{target}:{place}@{self.options}+{self.config}"


class Levels(_Told):
    """The runs of one figure, a number for each block; null where a run did not yield it."""

    step: StepName
    metric: str = Field(max_length=80)
    base: tuple[Level, ...] = Field(max_length=BLOCKS)
    head: tuple[Level, ...] = Field(max_length=BLOCKS)
    control: tuple[Level, ...] = Field(max_length=BLOCKS)

    @property
    def figure(self) -> Figure:
        """Which figure it is."""
        return Figure(self.step, self.metric)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Refuse what is no figure of ours."""
        if self.metric not in METRICS:
            raise ValueError("there is no such metric")
        if not len(self.base) == len(self.head) == len(self.control):
            raise ValueError("a block has a run of base, of head and of the control")
        if any(level and level < _LEAST for level in (*self.base, *self.head, *self.control)):
            raise ValueError("a level is too small to be one")
        return self


class Measured(_Told):
    """What was measured: the question, its price in seconds, and every run's figures."""

    target: str = Field(pattern=r"^[a-z]+$", max_length=20)
    base: Side
    head: Side
    machine_class: Name
    workload: Name
    smallest_effect: float = Field(gt=0, lt=1)
    budget: float = Field(gt=0, le=1e6)
    seconds: float = Field(ge=0, le=1e6)
    levels: tuple[Levels, ...] = Field(min_length=1, max_length=FIGURES)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Refuse figures that are there twice, and those of other blocks than the rest."""
        if len({each.figure for each in self.levels}) < len(self.levels):
            raise ValueError("a figure is there twice")
        if len({len(each.base) for each in self.levels}) > 1:
            raise ValueError("all figures are of the same blocks")
        return self

    def comparison(self, smallest: float | None = None) -> Comparison:
        """Return what comes of the runs; with ``smallest`` as the smallest change of interest."""
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
        return Comparison(
            base=base,
            head=head,
            workload=self.workload,
            machine_class=self.machine_class,
            question=question,
            answer=judged(question, self._blocks(), self.seconds),
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


class Answer(_Told):
    """The file: what was measured or, if nothing was, the ``reason`` in one line."""

    schema_version: Literal[1] = 1
    nightshift: str = Field(default=__version__, pattern=_LABEL, max_length=40)
    status: Literal["measured", "could not run"]
    reason: str = Field(default="", pattern=_PRINTABLE, max_length=REASON)
    measured: Measured | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        """Refuse an answer that is neither or both."""
        if (self.measured is None) != (self.status == "could not run") or bool(self.reason) == (
            self.measured is not None
        ):
            raise ValueError("it was either measured, or could not run for a reason")
        return self


def read_answer(data: bytes) -> Answer:
    """Read an answer. Raises ValueError, in a sentence of ours, for what is none."""
    try:
        return Answer.model_validate_json(data)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        at = plain(where)[:80] or "its beginning"
        raise ValueError(f"{ANSWER} does not fit at {at}") from None


def could_not_run(reason: str) -> Answer:
    """Return the answer of what could not be measured."""
    return Answer(status="could not run", reason=plain(reason)[:REASON] or "no reason is known")


def plain(text: str) -> str:
    """Return text from elsewhere as one line of printable ASCII that commands nothing.

    GitHub's runner takes lines that begin with ``::`` for commands, and what follows ``##[``
    anywhere.
    """
    line = re.sub(r"[^ -~]+", "?", " ".join(text.split()))
    line = re.sub(r"#(?=#\[)", "# ", line)
    return re.sub(r"^:(?=:)", ": ", line)


class Recorder:
    """Keeps what a runner measures, standing in front of it."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int], Figures] = {}

    def around(self, runner: Runner) -> Runner:
        """Return a runner that does as the given one, and is looked at meanwhile."""
        return _Recorded(runner, self._seen)

    def blocks(self, pair: Pair) -> list[Block]:
        """Return the whole blocks of a pair that were measured."""
        found: list[Block] = []
        for number in count(1):
            base, head, control = (
                self._seen.get((cell.key, number)) for cell in (pair.base, pair.head, pair.control)
            )
            if base is None or head is None or control is None:
                break
            found.append((base, head, control))
        return found


class _Recorded:
    def __init__(self, runner: Runner, seen: dict[tuple[str, int], Figures]) -> None:
        self._runner, self._seen = runner, seen

    def prepare(self, cell: Cell) -> None:
        """Obtain the build of a cell, as the other runner."""
        self._runner.prepare(cell)

    def built(self, cell: Cell) -> bool:
        """Say whether the other runner has the build of a cell."""
        return self._runner.built(cell)

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Run a cell once by the other runner, and keep its figures."""
        figures = self._runner.measure(cell, attempt)
        self._seen[cell.key, attempt] = figures
        return figures


def answer_of(experiment: Experiment, blocks: list[Block], seconds: float) -> Answer:
    """Return the answer of an experiment that was measured."""
    question = experiment.question

    def runs(figure: Figure, side: int) -> tuple[float | None, ...]:
        return tuple(block[side].get(figure) for block in blocks)

    measured = Measured(
        target=experiment.head.revision.target,
        base=_side(experiment.base),
        head=_side(experiment.head),
        machine_class=experiment.base.machine_class,
        workload=experiment.base.workload.name,
        smallest_effect=question.smallest_effect,
        budget=question.seconds,
        seconds=seconds,
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
    )
    return Answer(status="measured", measured=measured)


def _side(cell: Cell) -> Side:
    revision = cell.revision
    commit = revision.locator if re.fullmatch(_COMMIT, revision.locator) else ""
    # What stands in a folder is known by the same kind of number as a commit.
    changed = revision.supply is None or revision.supply.kind != "git"
    return Side(
        commit="" if changed else commit,
        label=revision.label,
        options=cell.build_options,
        config=cell.config.family,
    )

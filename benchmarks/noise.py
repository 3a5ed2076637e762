"""The noise of real runs: fitted to the bundles of unchanged revisions, and drawn again.

Bundles of one build, measured again and again (an A/A line), say how runs differ though nothing
changed. Of each metric a model is fitted with standard estimators that outliers do not decide, and
kept in ``noise.json``; simulated machines draw from it, at the scale that was measured or at any
other. In it the logarithm of a figure of run i is off by

    scale * Q_t(Phi(g_i)) + spike + drift * i

g is normal and remembers: an autoregression of order one, part of which all figures of a run have
in common. Q_t(Phi()) gives it the tails of Student's t (a normal copula: Cario and Nelson,
Modeling and Generating Random Vectors with Arbitrary Marginal Distributions, 1997).

    python -m benchmarks.noise FOLDER/results/bundles ... > noise.json
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import kendalltau, median_abs_deviation, norm, theilslopes
from scipy.stats import t as student

from changepoint.series import Floats
from pipeline.experiments.experiment import Figure, Figures
from pipeline.experiments.runner import figures_of
from pipeline.model import Manifest
from pipeline.model.metrics import METRICS, Direction
from pipeline.storage.bundle import list_bundles, read_bundle
from pipeline.text.errors import UserError

METRICS_FITTED = ("qps", "cpu_us/o")

LEAST_RUNS = 20
"""Fewer runs say nothing of tails and memory."""

FAR = 5.0
"""Deviations beyond which a run is a spike: of a normal one in two million, so that what is there
has another cause than the rest."""

NORMAL_TAIL = 100.0
"""Degrees of freedom from which on the tails are those of a normal."""

FITTED = Path(__file__).with_name("noise.json")


@dataclass(frozen=True)
class Noise:
    """How the logarithms of the figures of runs differ though nothing changed.

    Attributes:
        scale: relative deviation of one run: the median absolute deviation over .6745, as of a
            normal's standard deviation. What tails, spikes and drift do comes on top.
        tail: degrees of freedom of Student's t.
        memory: correlation of a run with the one before.
        common: correlation of two figures of one run.
        spikes: share of the runs that are slower, by more than :data:`FAR` scales.
        spike: by how many scales, on average.
        drift: how much slower the machine becomes in one run, relatively.
    """

    scale: float
    tail: float = NORMAL_TAIL
    memory: float = 0.0
    common: float = 0.5
    spikes: float = 0.0
    spike: float = 0.0
    drift: float = 0.0

    def scaled(self, scale: float) -> Noise:
        """Return noise of the same shape at another scale; the drift goes with it."""
        return replace(self, scale=scale, drift=self.drift * scale / self.scale)


class Draws:
    """The noise of one run after the other, as the machine that was fitted would have it."""

    def __init__(self, noise: Noise, figures: int, random: np.random.Generator) -> None:
        """Begin at a time that no run was before."""
        self._noise, self._random = noise, random
        # What all figures have in common, then that of each.
        self._state = random.normal(size=figures + 1)
        self._runs = 0
        self._unit = _unit(noise.tail)

    def next(self) -> Floats:
        """Return by how much the logarithm of each figure is worse in the next run, (figures,)."""
        noise, random = self._noise, self._random
        fresh = random.normal(size=len(self._state))
        self._state = noise.memory * self._state + math.sqrt(1.0 - noise.memory**2) * fresh
        shared = math.sqrt(noise.common) * self._state[0]
        normal = shared + math.sqrt(1.0 - noise.common) * self._state[1:]
        off = normal
        if noise.tail < NORMAL_TAIL:
            off = student.ppf(norm.cdf(normal), noise.tail) / self._unit
        if random.random() < noise.spikes:
            off = off + noise.spike
        self._runs += 1
        return np.asarray(noise.scale * off + noise.drift * self._runs, dtype=np.float64)


def fitted(path: Path = FITTED) -> dict[tuple[str, str], Noise]:
    """Return the noise that was fitted, by target and metric."""
    return {
        (source["target"], metric): Noise(**noise)
        for source in json.loads(path.read_text())["sources"]
        for metric, noise in source["noise"].items()
    }


def fit(worse: Floats) -> Noise:
    """Fit the figures of one metric, (runs, steps), as logarithms that grow as it becomes worse.

    Runs are in the order in which they were made. The drift of each step is the median slope of all
    pairs of runs (Theil 1950; Sen 1968). Correlations are sin(pi tau / 2) of Kendall's tau, which
    holds whatever the tails (Lindskog, McNeil and Schmock 2003). The tail is the likeliest for
    what is not beyond :data:`FAR`. All steps, each in its own scale, have one shape; what
    is given for the scale and the drift is the median step's.
    """
    runs, steps = worse.shape
    slopes = np.array([theilslopes(worse[:, step]).slope for step in range(steps)])
    rest = worse - slopes * np.arange(runs)[:, None]
    rest = rest - np.median(rest, axis=0)
    scales = median_abs_deviation(rest, axis=0, scale="normal")
    off = rest / scales
    scale = float(np.median(scales))
    slow = off[off > FAR]
    memories = [_correlation(each[:-1], each[1:]) for each in off.T]
    together = [_correlation(off[:, a], off[:, b]) for a, b in combinations(range(steps), 2)]
    return Noise(
        scale=scale,
        tail=_tail(off[np.abs(off) <= FAR]),
        memory=max(float(np.mean(memories)), 0.0),
        common=max(float(np.mean(together)), 0.0) if together else 0.0,
        spikes=len(slow) / off.size,
        spike=float(np.mean(slow)) if len(slow) else 0.0,
        # In scales, for a step of a large scale drifts by as much more.
        drift=float(np.median(slopes / scales)) * scale,
    )


def _unit(tail: float) -> float:
    """The scale of Student's t, as that of :attr:`Noise.scale`."""
    return float(student.ppf(0.75, tail) / norm.ppf(0.75))


def _tail(values: Floats) -> float:
    """The degrees of freedom under which values of scale 1, none beyond FAR, are likeliest."""

    def unlikely(logarithm: float) -> float:
        tail = math.exp(logarithm)
        unit = _unit(tail)
        inside = 2.0 * student.cdf(FAR * unit, tail) - 1.0
        return float(-student.logpdf(values * unit, tail).mean() - math.log(unit / inside))

    bounds = (math.log(1.0), math.log(NORMAL_TAIL))
    return math.exp(float(minimize_scalar(unlikely, bounds=bounds, method="bounded").x))


def _correlation(first: Floats, second: Floats) -> float:
    return math.sin(math.pi / 2.0 * float(kendalltau(first, second).statistic))


def read(folder: Path) -> Iterator[tuple[Manifest, Figures]]:
    """Yield the runs in a folder of bundles."""
    for path in list_bundles(folder):
        bundle = read_bundle(path)
        yield bundle.manifest, figures_of(bundle)


def source(runs: Sequence[tuple[Manifest, Figures]]) -> Mapping[str, Any]:
    """Fit the runs of one build, and say where they are from.

    Raises UserError for runs of different builds or workloads, or too few of them.
    """
    if len(runs) < LEAST_RUNS:
        raise UserError(f"there are {len(runs)} runs; {LEAST_RUNS} are needed")
    runs = sorted(runs, key=lambda run: run[0].started_at)
    first, last = runs[0][0], runs[-1][0]
    alike = {
        (m.build.hash, m.config.name, m.workload.name, m.machine.machine_class) for m, _ in runs
    }
    if len(alike) > 1:
        raise UserError("the runs are of more than one build, workload or machine; fit an A/A line")
    steps = [step.name for step in first.workload.steps]
    machine = first.machine
    return {
        "machine": f"{machine.machine_class}, {machine.cores} cores, {machine.virtualised}",
        "target": first.revision.target,
        "version": first.revision.version,
        "workload": f"{first.workload.family} {first.workload.scale.measure:g} s",
        "steps": steps,
        "runs": len(runs),
        "from": first.started_at.isoformat(timespec="minutes"),
        "to": last.started_at.isoformat(timespec="minutes"),
        "noise": {metric: asdict(_fitted(runs, steps, metric)) for metric in METRICS_FITTED},
    }


def _fitted(runs: Sequence[tuple[Manifest, Figures]], steps: Sequence[str], metric: str) -> Noise:
    """Fit one metric. A run of which a figure is missing or zero is left out."""
    less = METRICS[metric].direction is Direction.LESS_IS_BETTER
    figures = [[run.get(Figure(step, metric), 0.0) for step in steps] for _, run in runs]
    values = np.log([each for each in figures if all(each)])
    noise = fit(values if less else -values)
    return Noise(**{name: float(f"{value:.3g}") for name, value in asdict(noise).items()})


def main() -> None:
    """Fit the bundles of the folders, and print what is found."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.noise", description="Fit the noise of unchanged revisions."
    )
    parser.add_argument("bundles", nargs="+", type=Path, help="folder of bundles of an A/A line")
    parser.add_argument("--note", default="", help="what else is to be known, for the reader")
    options = parser.parse_args()
    try:
        sources = [source(list(read(folder))) for folder in options.bundles]
    except UserError as error:
        parser.error(str(error))
    tree = {"note": options.note, "sources": sources}
    sys.stdout.write(json.dumps(tree, indent=2) + "\n")


if __name__ == "__main__":
    main()

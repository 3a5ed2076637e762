"""What is compiled ahead is all there is to compile."""

from __future__ import annotations

import subprocess
import sys

SEARCH = """
import sys
from itertools import product

import numpy as np
from numba.core.dispatcher import Dispatcher

import changepoint
from changepoint.compile import compile_kernels


def signatures():
    kernels = {
        value
        for name, module in sys.modules.items()
        if name.startswith("changepoint")
        for value in vars(module).values()
        if isinstance(value, Dispatcher)
    }
    return {
        (f"{kernel.py_func.__module__}.{kernel.__name__}", str(kind))
        for kernel in kernels
        for kind in kernel.signatures
    }


compile_kernels()
before = signatures()
assert "changepoint.detection.default.changes" in dict(before)

random = np.random.default_rng(7)
for count, replicates, step, louder, modes in product(
    (1, 2, 5, 12, 30, 90), (1, 2, 3), (0.0, 30.0), (1.0, 8.0), (0.0, 9.0)
):
    late = np.arange(count)[:, None] >= count // 2
    noise = random.normal(size=(count, replicates)) * np.where(late, louder, 1.0)
    noise += modes * random.integers(0, 2, size=(count, replicates))
    values = (100.0 + noise + step * late).ravel()
    labels = None if replicates == 1 else np.repeat(np.arange(count), replicates)
    for method in changepoint.methods():
        changepoint.detect(values, positions=labels, method=method, min_effect=0.01)
    changepoint.detect(np.round(values), positions=labels)
    changepoint.detect(tuple(values.tolist()), positions=labels)
    changepoint.pooled({"a": values, "b": values[::-1]}, positions=labels)
    if count > 2:
        changepoint.compare(values, values + 1.0, smallest_effect=0.01)
    stream = changepoint.Stream()
    for value in values.tolist():
        stream.append(value)
        stream.changes
    stream.detection()
for count in (2, 9):
    search = changepoint.Bisection(count, ["a", "b"])
    for _ in range(12):
        at = search.next()
        search.add(at, {"a": 100.0 + at, "b": 100.0 + random.normal()})
    search.culprit

print(*sorted(map(" ".join, signatures() - before)), sep="\\n")
"""


def test_nothing_is_compiled_after_what_is_compiled_ahead() -> None:
    found = subprocess.run(
        [sys.executable, "-c", SEARCH], capture_output=True, text=True, check=False, timeout=600
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split("\n") == ["", ""]

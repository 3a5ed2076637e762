"""Samples as OpenMetrics text, which promtool makes blocks of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from pipeline.publish.samples import Labels, Sample

END = "# EOF\n"

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def exposition(samples: Iterable[tuple[Labels, Sample]]) -> Iterator[str]:
    """Write samples as text, piece by piece. All samples of a name have to come together.

    Raises ValueError for a name that comes again after another one.
    """
    family, ended = "", set[str]()
    series: Labels = ()
    begin = ""
    for labels, sample in samples:
        if labels != series:
            series, begin = labels, selector(labels)
            name = begin.partition("{")[0]
            if name != family:
                ended.add(family)
                if name in ended:
                    raise ValueError(f"the samples of {name} do not come together")
                family = name
                yield f"# TYPE {name} gauge\n"
        yield f"{begin} {number(sample.value)} {timestamp(sample.at)}\n"
    yield END


def selector(labels: Labels) -> str:
    """Return a series as it is written: its name, and its other labels in braces."""
    others = ",".join(
        f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels if name != "__name__"
    )
    name = dict(labels)["__name__"]
    return f"{name}{{{others}}}" if others else name


def number(value: float) -> str:
    """Return a value in the fewest digits that are read back as the same."""
    if math.isfinite(value):
        return repr(float(value))
    if math.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"


def timestamp(at: int) -> str:
    """Return milliseconds as seconds, which Prometheus reads as the same milliseconds.

    It multiplies by 1000 in floating point and cuts the fraction off: of moments written with three
    decimals, six in a thousand are read as the millisecond before. A quarter of one more keeps
    them, however it rounds.
    """
    seconds, milliseconds = divmod(abs(at), 1000)
    return f"{'-' if at < 0 else ''}{seconds}.{milliseconds:03}25"

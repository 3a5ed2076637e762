"""What every probe owes, and how its readings travel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Protocol

from pipeline.model import Sample, SampledField


class Probe(Protocol):
    """Reads some figures of the host or the server, whenever it is asked.

    ``fields`` says what :meth:`read` returns; a field the kernel does not offer is left out
    of the reading rather than given as zero. A probe that has something running beside the step
    is a context manager, too: it is entered when the load generator has started, and left when
    that has ended.
    """

    name: str
    help: str
    fields: tuple[SampledField, ...]

    def read(self) -> dict[str, float]:
        """Return the present value of each field that is available."""
        ...


def dump_samples(samples: Iterable[Sample]) -> bytes:
    """Write samples as JSON lines, the form in which a bundle keeps them."""
    lines = (json.dumps({"at": round(at, 6), **values}) for at, values in samples)
    return "".join(f"{line}\n" for line in lines).encode()


def load_samples(data: bytes) -> Iterator[Sample]:
    """Read what :func:`dump_samples` wrote."""
    for line in data.splitlines():
        values = json.loads(line)
        yield Sample(values.pop("at"), values)

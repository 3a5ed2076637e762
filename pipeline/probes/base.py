"""The interface of a probe, and the file format of the values it reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Protocol

from pipeline.model import ProbeSample, SampledField


class Probe(Protocol):
    """Reads some values of the machine or of a DBMS, each time that :meth:`read` is called.

    ``fields`` are the fields that :meth:`read` may return; a field that the kernel does not offer
    is missing from the reading, not zero. A probe that runs a process or a thread during the step
    is also a context manager, entered after the load generator has started and left after it has
    ended.
    """

    fields: tuple[SampledField, ...]

    def read(self) -> dict[str, float]:
        """Return the present values of all fields that are available."""
        ...


def dump_samples(samples: Iterable[ProbeSample]) -> bytes:
    """Write samples as JSON lines, as bundles contain them."""
    lines = (json.dumps({"at": round(at, 6), **values}) for at, values in samples)
    return "".join(f"{line}\n" for line in lines).encode()


def load_samples(data: bytes) -> Iterator[ProbeSample]:
    """Parse samples from JSON lines."""
    for line in data.splitlines():
        values = json.loads(line)
        yield ProbeSample(values.pop("at"), values)


class ProfileError(Exception):
    """The stacks of a server could not be recorded; the text says why in one line."""

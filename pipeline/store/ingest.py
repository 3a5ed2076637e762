"""From bundles to rows. A bundle is taken whole, in one transaction, once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from pipeline.bundle import (
    SETTINGS_MEMBER,
    SUFFIX,
    VALUES_MEMBER,
    Bundle,
    BundleError,
    DamagedBundleError,
    NewerBundleError,
    read_bundle,
)
from pipeline.errors import UserError, first_line
from pipeline.model import Origin, StepRecord, StepStatus
from pipeline.probes.base import load_samples
from pipeline.store.derive.activity import activity
from pipeline.store.derive.background import missed_rates
from pipeline.store.derive.fits import fits
from pipeline.store.derive.histogram import histogram
from pipeline.store.derive.step import marks, measurements
from pipeline.store.write import StepValues, Writer
from pipeline.workloads import find_family
from pipeline.workloads.base import Family, UnknownStepError

_BATCH = 50
"""Bundles per transaction: few enough to lose nothing worth a word when killed."""


@dataclass
class IngestReport:
    """What an ingest did: runs taken, runs known already, and bundles that were refused."""

    taken: int = 0
    known: int = 0
    measurements: int = 0
    refused: list[BundleError] = field(default_factory=list)


def ingest(
    engine: Engine, paths: Iterable[Path], progress: Callable[[], None] = lambda: None
) -> IngestReport:
    """Take every bundle that the store does not have yet.

    Damaged and newer bundles are refused, one by one, and do not stop the others. Calls
    ``progress`` once a bundle. Raises UserError when the database fails.
    """
    report = IngestReport()
    try:
        with engine.connect() as connection:
            writer = Writer(connection)
            for count, path in enumerate(paths, start=1):
                _take(writer, path, report)
                progress()
                if count % _BATCH == 0:
                    connection.commit()
            connection.commit()
    except (DBAPIError, psycopg.Error) as error:
        cause = getattr(error, "orig", None) or error
        raise UserError(
            f"the store failed while taking bundles ({first_line(cause)}); nothing measured is "
            "lost, mend it and run `nightshift ingest` again"
        ) from error
    return report


def _take(writer: Writer, path: Path, report: IngestReport) -> None:
    if writer.knows(path.name.removesuffix(SUFFIX)):
        report.known += 1
        return
    try:
        bundle = read_bundle(path)
        settings = _settings(bundle)
        steps = list(steps_of(bundle))
    except BundleError as error:
        report.refused.append(error)
    except UnknownStepError as error:
        report.refused.append(
            NewerBundleError(path, f"needs a newer nightshift ({error}); upgrade to use it")
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Whole and verified, and yet not what this version of the layout holds.
        report.refused.append(
            DamagedBundleError(path, f"cannot be understood: {first_line(error)}")
        )
    else:
        report.measurements += writer.write(bundle, settings, steps)
        report.taken += 1


def _settings(bundle: Bundle) -> dict[str, str] | None:
    raw = bundle.files.get(SETTINGS_MEMBER)
    return dict(json.loads(raw)) if raw is not None else None


def steps_of(bundle: Bundle) -> Iterator[StepValues]:
    """Yield every step of a bundle with its values.

    Raises UnknownStepError for a step of a newer nightshift, and AttributeError, KeyError,
    TypeError or ValueError for a bundle that does not hold what this version of its layout does.
    """
    manifest = bundle.manifest
    if manifest.origin is Origin.IMPORTED:
        published = json.loads(bundle.files[VALUES_MEMBER])
        for record in manifest.steps:
            values = dict(published[record.step.name])
            if not all(math.isfinite(value) for value in values.values()):
                raise ValueError(f"a value of {record.step.name} is not a number")
            yield StepValues(record.step, record.status, record.note, values)
        return
    family = _family(bundle)
    for record in manifest.steps:
        if record.status is not StepStatus.OK:
            yield _failed(record, record.status, record.note)
            continue
        text = bundle.files[f"{record.folder}/stdout.txt"].decode(errors="replace")
        try:
            output = family.parse(record.step, manifest.workload, text)
        except UnknownStepError:
            raise
        except ValueError as error:
            yield _failed(record, StepStatus.FAILED, first_line(error))
            continue
        samples = list(load_samples(bundle.files.get(f"{record.folder}/samples.jsonl", b"")))
        missed = missed_rates(output)
        yield StepValues(
            record.step,
            StepStatus.SLA_FAILED if missed else StepStatus.OK,
            missed or record.note,
            measurements(output, samples, record.database_bytes, manifest.machine.memory_bytes),
            [(p.at, p.ops_per_second, p.latency_ms) for p in output.timeline],
            activity=activity(samples, manifest.sampled),
            histogram=histogram(output),
            marks=(*marks(output), *fits(manifest.config, record.database_bytes)),
            disturbed=record.disturbed,
        )


def _failed(record: StepRecord, status: StepStatus, note: str) -> StepValues:
    return StepValues(record.step, status, note, {}, disturbed=record.disturbed)


def _family(bundle: Bundle) -> Family:
    try:
        return find_family(bundle.manifest.workload.family)
    except KeyError as error:
        raise UnknownStepError(error.args[0]) from error

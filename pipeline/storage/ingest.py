"""Ingest bundles: write each one into the store as rows, once and in one transaction."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError

from pipeline.model import (
    Mode,
    Origin,
    ProbeSample,
    StepCounts,
    StepOutput,
    StepRecord,
    StepStatus,
)
from pipeline.probes.base import load_samples
from pipeline.storage.bundle import (
    COUNTS_MEMBER,
    SETTINGS_MEMBER,
    SUFFIX,
    VALUES_MEMBER,
    Bundle,
    BundleError,
    DamagedBundleError,
    NewerBundleError,
    read_bundle,
)
from pipeline.storage.condensed import MEMBER, condensed_steps, is_condensed
from pipeline.storage.derive.activity import activity
from pipeline.storage.derive.background import background, missed_rates
from pipeline.storage.derive.fits import fits
from pipeline.storage.derive.hardware import hardware, missing_cpu_time
from pipeline.storage.derive.histogram import histogram
from pipeline.storage.derive.oscillation import oscillation
from pipeline.storage.derive.steady import figures, steadiness
from pipeline.storage.derive.steady import marks as steady_marks
from pipeline.storage.derive.variance import variance
from pipeline.storage.write import Settings, StepValues, Writer
from pipeline.text.errors import UserError, first_line
from pipeline.workloads import find_family
from pipeline.workloads.base import Family, UnknownStepError

_NOT_STORABLE = (DataError, IntegrityError, OverflowError, UnicodeError)
"""Errors of a write to the database whose cause is the content of one bundle, not the database."""


@dataclass
class IngestReport:
    """The result of an ingest: which runs are new or known, and which bundles were refused."""

    taken: int = 0
    known: int = 0
    measurements: int = 0
    refused: list[BundleError] = field(default_factory=list)


def ingest(
    engine: Engine, paths: Iterable[Path], progress: Callable[[], None] = lambda: None
) -> IngestReport:
    """Ingest every bundle that the store does not have yet.

    Damaged bundles, and bundles of a newer nightshift, are refused and do not stop the others.
    Calls ``progress`` once for each bundle. Raises UserError if the database fails.
    """
    report = IngestReport()
    try:
        with engine.connect() as connection:
            writer = Writer(connection)
            for path in paths:
                _take(writer, path, report)
                progress()
    except (DBAPIError, psycopg.Error) as error:
        cause = getattr(error, "orig", None) or error
        raise UserError(
            f"the store failed while ingesting bundles ({first_line(cause)}); correct the cause "
            "and run `nightshift ingest` again: all results are kept"
        ) from error
    return report


def _take(writer: Writer, path: Path, report: IngestReport) -> None:
    if writer.knows(path.name.removesuffix(SUFFIX)):
        report.known += 1
        return
    try:
        bundle, settings, steps = check_bundle(path)
        written = writer.write(bundle, settings, steps)
    except BundleError as error:
        report.refused.append(error)
        return
    except (StatementError, OverflowError, UnicodeError) as error:
        cause = getattr(error, "orig", None) or error
        if not isinstance(error, _NOT_STORABLE) and not isinstance(cause, _NOT_STORABLE):
            raise
        report.refused.append(
            DamagedBundleError(
                path, f"holds a value that the store cannot represent: {first_line(cause)}"
            )
        )
        return
    if written is None:
        report.known += 1
    else:
        report.measurements += written
        report.taken += 1


def check_bundle(path: Path) -> tuple[Bundle, Settings | None, list[StepValues]]:
    """Read a bundle, and parse its settings and steps. Raises BundleError if it cannot be used."""
    return parse_bundle(path, read_bundle(path))


def parse_bundle(path: Path, bundle: Bundle) -> tuple[Bundle, Settings | None, list[StepValues]]:
    """Parse the settings and steps of a bundle that was read from ``path``.

    Raises BundleError if they are invalid, or if a newer nightshift wrote them.
    """
    try:
        return bundle, _settings(bundle), list(steps_of(bundle))
    except UnknownStepError as error:
        raise NewerBundleError(
            path, f"needs a newer nightshift ({error}); upgrade nightshift"
        ) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Complete and verified, but not in this version of the layout.
        raise DamagedBundleError(path, f"cannot be parsed: {first_line(error)}") from error
    except RecursionError as error:
        raise DamagedBundleError(path, "cannot be understood: it is nested too deeply") from error


def _settings(bundle: Bundle) -> dict[str, str] | None:
    raw = bundle.files.get(SETTINGS_MEMBER)
    if raw is None:
        return None
    settings = dict(json.loads(raw))
    for name, value in settings.items():
        if not isinstance(value, str):
            raise ValueError(f"the setting {name} is not a string")
    return settings


def steps_of(bundle: Bundle) -> Iterator[StepValues]:
    """Yield every step of a bundle with its metrics.

    Raises UnknownStepError for a step of a newer nightshift, and AttributeError, KeyError,
    TypeError or ValueError for a bundle whose content this version cannot parse.
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
    if is_condensed(bundle.files):
        kept = condensed_steps(manifest.steps, bundle.files[MEMBER])
        for record, step in zip(manifest.steps, kept, strict=True):
            counted = f"{record.folder}/{COUNTS_MEMBER}" in bundle.files
            functions = step_counts(bundle, record).large_functions if counted else ()
            yield replace(step, functions=functions)
        return
    family = _family(bundle)
    for record in manifest.steps:
        if record.status is not StepStatus.OK:
            yield _failed(record, record.status, record.note)
            continue
        if manifest.workload.mode is Mode.COUNT:
            yield _counted(record, step_counts(bundle, record))
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
        memory = manifest.workload.memory_bytes or manifest.machine.memory_bytes
        values = measurements(output, samples, record.database_bytes, memory)
        yield StepValues(
            record.step,
            StepStatus.SLA_FAILED if missed else StepStatus.OK,
            missed or record.note,
            values,
            [(p.at, p.ops_per_second, p.latency_ms) for p in output.timeline],
            activity=activity(samples, manifest.sampled),
            histogram=histogram(output),
            marks=(
                *marks(output),
                *fits(manifest.config, record.database_bytes),
                *missing_cpu_time(output, samples, values),
            ),
            disturbed=record.disturbed,
        )


def counts_of(path: Path) -> dict[str, StepCounts]:
    """Return the instruction costs of every counted step of a bundle, by step name."""
    bundle = read_bundle(path)
    try:
        return {
            record.step.name: step_counts(bundle, record)
            for record in bundle.manifest.steps
            if record.status is StepStatus.OK
        }
    except (KeyError, ValueError) as error:
        raise DamagedBundleError(path, f"cannot be parsed: {first_line(error)}") from error


def step_counts(bundle: Bundle, record: StepRecord) -> StepCounts:
    """Return how many instructions a step of a counted run costs per operation.

    Raises KeyError if the bundle has no counts for the step, ValueError if they are invalid.
    """
    return StepCounts.model_validate_json(bundle.files[f"{record.folder}/{COUNTS_MEMBER}"])


def _counted(record: StepRecord, counts: StepCounts) -> StepValues:
    """Return the metrics of a counted step, without times: the counting tool distorts them."""
    values = {"instructions/o": counts.instructions, **counts.misses}
    return StepValues(
        record.step,
        StepStatus.OK,
        record.note,
        values,
        disturbed=record.disturbed,
        functions=counts.large_functions,
    )


def _failed(record: StepRecord, status: StepStatus, note: str) -> StepValues:
    return StepValues(record.step, status, note, {}, disturbed=record.disturbed)


def _family(bundle: Bundle) -> Family:
    try:
        return find_family(bundle.manifest.workload.family)
    except KeyError as error:
        raise UnknownStepError(error.args[0]) from error


def measurements(
    output: StepOutput,
    samples: Sequence[ProbeSample],
    database_bytes: int | None = None,
    memory_bytes: int = 0,
) -> dict[str, float]:
    """Return every metric that can be computed from the output and samples of a step, by name.

    The definitions are those of the Small Datum reports; see docs/reference/metrics.md.

    ``memory_bytes`` is the memory that the DBMS may use, 0 if unknown.
    """
    throughput = output.operations / output.seconds if output.seconds > 0 else 0.0
    beside = background(output)
    values = {"qps": throughput, "errors": float(output.errors)}
    values |= {f"latency_{name}": value for name, value in output.latency_ms.items()}
    values |= variance(output.timeline)
    values |= _over_time(output)
    values |= hardware(samples, throughput, beside.get("inserts/s", 0.0))
    values |= beside
    values |= output.figures
    if database_bytes is not None:
        values["dbsize"] = float(database_bytes)
    if database_bytes and memory_bytes:
        values["cached"] = min(memory_bytes / database_bytes, 1.0)
    return values


def marks(output: StepOutput) -> tuple[str, ...]:
    """Return the marks of a step: sentences that say why its figures need care."""
    found = steadiness(output.timeline)
    return steady_marks(found) if found is not None else ()


def _over_time(output: StepOutput) -> dict[str, float]:
    """Return the metrics that describe throughput over time: steadiness and swings."""
    found = steadiness(output.timeline)
    if found is None:
        return {}
    steady = [point for point in output.timeline if point.at > found.warming]
    return figures(found) | oscillation(steady)

"""nightshift.toml, read into a validated model.

A mistake in the file is answered with the file, the line and what was meant.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import UserError, meant
from pipeline.units import Duration, Percent

DEFAULT_FILE = Path("nightshift.toml")
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""Names go into file names, so they are letters, digits, dots, dashes and underscores."""
Version = Annotated[str, Field(pattern=r"^(\d+(\.\d+)*)?$")]
"""A release or the beginning of one: 17, 17.4."""


class Section(BaseModel):
    """A table of the file: immutable, and every unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Paths(Section):
    """Where things are kept."""

    results: Path = Field(
        default=Path("results"), description="bundles, the store, reports and issues"
    )
    cache: Path | None = Field(
        default=None,
        description="downloads, installed builds and running servers; by default "
        "/var/cache/nightshift as root and ~/.cache/nightshift otherwise",
    )

    @property
    def cache_folder(self) -> Path:
        """The cache as configured, or the default for whoever runs us."""
        if self.cache is not None:
            return self.cache.expanduser().absolute()
        if (chosen := os.environ.get("NIGHTSHIFT_CACHE")) is not None:
            return Path(chosen).absolute()
        if os.geteuid() == 0:
            return Path("/var/cache/nightshift")
        return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "nightshift"


class StoreSection(Section):
    """The database derived from the bundles."""

    url: str = Field(
        default="",
        description="SQLAlchemy URL of a PostgreSQL database for a team, as "
        "postgresql+psycopg://user@host/nightshift; empty for SQLite in paths.results",
    )


class MachineSection(Section):
    """The machine that measures."""

    machine_class: str = Field(
        default="",
        alias="class",
        description="name of its machine class; empty to derive one from the processor",
    )
    pin: bool = Field(default=True, description="keep server, client and harness on fixed cores")
    port: int = Field(
        default=0, ge=0, le=65535, description="port of the server on loopback; 0 picks a free one"
    )


class Night(Section):
    """How a night is run."""

    repetitions: int = Field(default=3, ge=1, le=100, description="runs of every cell")


class LineSection(Section):
    """A sequence of revisions of one target."""

    name: Name
    target: str = Field(description="the DBMS: postgres")
    take: Literal["newest-of-each-major", "all"] = Field(
        default="all", description="which of the releases between since and until"
    )
    since: Version = Field(default="", description="first version or major taken")
    until: Version = Field(default="", description="last version or major taken")
    revisions: tuple[str, ...] = Field(
        default=(),
        description="exactly these versions; a copy of one, as 17.11#2, is a control (A/A)",
    )
    newest: int = Field(default=0, ge=0, description="only the newest N of them; 0 for all")

    @model_validator(mode="after")
    def _explicit_or_selected(self) -> LineSection:
        if self.revisions and (self.since or self.until or self.newest):
            raise ValueError("give either revisions, or since, until and newest, not both")
        return self


class WorkloadSection(Section):
    """A workload and the configurations it is run with."""

    name: Name
    family: str = Field(default="sysbench", description="the workload family: sysbench")
    config: Name = Field(default="x10a", description="name of the DBMS configuration")
    build: Name = Field(default="official", description="name of the build options")
    lines: tuple[str, ...] = Field(default=(), description="lines to run on; empty for all")
    steps: tuple[str, ...] = Field(
        default=("all",), description='step or group names, or "all"', min_length=1
    )
    tables: int = Field(default=1, ge=1)
    rows: int = Field(default=20_000, ge=1000, description="rows per table")
    clients: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(1,), min_length=1)
    measure: Duration = Field(default=1.0, description="measured time of a step")
    warmup: Duration = Field(default=0.25, description="time a step runs before it is measured")


class DetectSection(Section):
    """What counts as a change."""

    metrics: tuple[str, ...] = Field(default=("qps", "cpu_us/o"), min_length=1)
    alarms_per_1000: float = Field(
        default=0.5, gt=0, le=100, description="false alarms per 1000 tests of a series"
    )
    min_effect: Percent = Field(default=0.03, description="smallest change worth a word")


class ReportSection(Section):
    """How tables are coloured: relative throughput at or beyond these is marked."""

    worse: float = Field(default=0.95, gt=0, le=1)
    better: float = Field(default=1.05, ge=1)


class NotifySection(Section):
    """Where regressions are told."""

    sink: Literal["directory"] = "directory"
    folder: Path | None = Field(default=None, description="default: issues in paths.results")


class Quick(Section):
    """What --quick puts in place of the settings above: a real night in two minutes."""

    repetitions: int = Field(default=2, ge=1)
    newest: int = Field(default=2, ge=1, description="revisions per line")
    steps: tuple[str, ...] = Field(default=("point-query", "scan", "update-index"), min_length=1)
    rows: int = Field(default=5000, ge=1000)
    measure: Duration = 1.0
    warmup: Duration = 0.1


class Config(Section):
    """The whole file."""

    paths: Paths = Paths()
    store: StoreSection = StoreSection()
    machine: MachineSection = MachineSection()
    night: Night = Night()
    line: tuple[LineSection, ...] = ()
    workload: tuple[WorkloadSection, ...] = ()
    detect: DetectSection = DetectSection()
    report: ReportSection = ReportSection()
    notify: NotifySection = NotifySection()
    quick: Quick = Quick()

    @property
    def store_url(self) -> str:
        """The store's URL, with the default filled in."""
        return self.store.url or f"sqlite:///{(self.paths.results / 'store.db').absolute()}"

    @property
    def issues_folder(self) -> Path:
        """Where the directory sink writes."""
        return self.notify.folder or self.paths.results / "issues"


class ConfigFile:
    """A configuration with the text it came from, so that errors can name a line."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UserError(_toml_message(path, text, error)) from error
        try:
            self.config = Config.model_validate(raw)
        except ValidationError as error:
            raise self._first_problem(error) from error
        self._check_references()

    def problem(self, location: Sequence[str | int], message: str) -> UserError:
        """Return the error for a setting: ``nightshift.toml:12: line.take: message``."""
        line = find_line(self.text, location)
        where = ".".join(str(part) for part in location if not isinstance(part, int))
        return UserError(f"{self.path}:{line}: {where}: {message}")

    def _first_problem(self, error: ValidationError) -> UserError:
        first = error.errors()[0]
        location = first["loc"]
        if first["type"] == "extra_forbidden":
            known = _keys_at(location[:-1])
            hint = meant(str(location[-1]), known)
            return self.problem(location, f"there is no such setting; {hint}")
        message = str(first.get("ctx", {}).get("error", first["msg"]))
        return self.problem(location, message[:1].lower() + message[1:])

    def _check_references(self) -> None:
        names = [line.name for line in self.config.line]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self.problem(("line", index, "name"), f"two lines are named {name}")
        for index, workload in enumerate(self.config.workload):
            for at, wanted in enumerate(workload.lines):
                if wanted not in names:
                    raise self.problem(
                        ("workload", index, "lines", at),
                        f"there is no line {wanted!r}; {meant(wanted, names)}",
                    )


def load_config(path: Path) -> ConfigFile:
    """Read a configuration file. Raises UserError with file and line for any mistake."""
    try:
        return ConfigFile(path, path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(
            f"{path} does not exist; run in the folder that holds it or give --config FILE"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of nightshift.toml, for editors."""
    schema = Config.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "nightshift.toml"
    return schema


def find_line(text: str, location: Sequence[str | int]) -> int:
    """Return the 1-based line of a setting in TOML text, or of the nearest table above it.

    ``location`` is a path as pydantic gives it: ("workload", 0, "steps", 2).
    """
    best, best_depth = 1, 0
    table: list[str | int] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*(\[\[?)\s*([\w.-]+)\s*\]", line):
            name = header[2]
            table = list(name.split("."))
            if header[1] == "[[":
                seen[name] = seen.get(name, -1) + 1
                table.append(seen[name])
            here = table
        elif key := re.match(r"\s*\"?([\w-]+)\"?\s*=", line):
            here = [*table, key[1]]
        else:
            continue
        depth = len(here)
        if here == list(location[:depth]) and depth > best_depth:
            best, best_depth = number, depth
    return best


def _keys_at(location: Sequence[str | int]) -> list[str]:
    """Return the settings that may stand in the table at ``location``."""
    section: type[BaseModel] = Config
    for part in location:
        if isinstance(part, int):
            continue
        annotation = section.model_fields[part].annotation
        inner = getattr(annotation, "__args__", (annotation,))[0]
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        section = inner
    return [field.alias or name for name, field in section.model_fields.items()]


def _toml_message(path: Path, text: str, error: tomllib.TOMLDecodeError) -> str:
    found = re.search(r"\(at line (\d+)", str(error))
    line = int(found[1]) if found else len(text.splitlines())
    reason = re.sub(r"\s*\(at .*\)$", "", str(error))
    return f"{path}:{line}: not valid TOML: {reason[:1].lower()}{reason[1:]}"

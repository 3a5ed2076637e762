"""nightshift.toml, read into a validated model.

A mistake in the file is answered with the file, the line and what was meant.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import UserError, meant
from pipeline.metrics import METRICS
from pipeline.mistakes import (
    ADDRESS,
    AGE,
    HOST_PORT,
    NAME,
    RECEIVER,
    VARIABLE,
    VERSION,
    settings_at,
    toml_message,
    wording,
)
from pipeline.model import OptionValue, Pattern
from pipeline.toml_lines import Location, find_line
from pipeline.units import Duration, Percent, Price, Size

DEFAULT_FILE = Path("nightshift.toml")
Name = Annotated[str, Field(pattern=NAME)]
"""Names go into file names, so they are letters, digits, dots, dashes and underscores."""
Version = Annotated[str, Field(pattern=VERSION)]
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
    builds_limit: Size = Field(
        default=50 * 10**9,
        description="room for installed builds; those not used for longest leave first",
        json_schema_extra={"default": "50GB"},
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
    builds: int = Field(default=1, ge=1, le=64, description="how many builds are compiled at once")
    jobs: int = Field(
        default=0, ge=0, description="commands that a build runs at once; 0 for all processors"
    )
    port: int = Field(
        default=0, ge=0, le=65535, description="port of the server on loopback; 0 picks a free one"
    )
    price_per_hour: Price | None = Field(
        default=None,
        description='what an hour of it costs, as "0.34 EUR"; the ledger then tells money, too',
    )


class BuildSection(Section):
    """Build options: how source code is compiled. The published ones need no table."""

    name: Name = Field(description="how lines and tables call them")
    compiler: str = Field(default="gcc", description="gcc, clang, gcc-12 or a path")
    flags: str = Field(
        default="-O2 -fno-omit-frame-pointer", description="flags of the C and C++ compiler"
    )
    lto: bool = Field(default=False, description="optimise while linking")
    configure: tuple[str, ...] = Field(
        default=(), description="options of the DBMS's own configuration step"
    )


class PatchSection(Section):
    """A change to the source code of some revisions, as old ones need for new compilers."""

    target: str = Field(description="the DBMS")
    file: Path = Field(description="a patch that `patch -p1` applies, beside nightshift.toml")
    since: Version = Field(default="", description="first version or major that needs it")
    until: Version = Field(default="", description="last version or major that needs it")


class Night(Section):
    """How a night is run."""

    repetitions: int = Field(default=3, ge=1, le=100, description="runs of every cell")


class LineSection(Section):
    """A sequence of revisions of one target."""

    name: Name = Field(description="how tables and issues call it")
    target: str = Field(description="the DBMS, as `nightshift targets` lists them")
    source: str = Field(
        default="",
        description="where its revisions are had; `nightshift targets` lists them, the first is "
        "taken if not set",
    )
    repository: str = Field(
        default="", description="for git and tags: another repository, an address or a folder"
    )
    branch: str = Field(default="", description="for git: another branch")
    major: Version = Field(
        default="",
        description="for git: the release series that the branch is of, whose configuration its "
        "commits get; the newest if not set",
    )
    build: str = Field(
        default="",
        description="name of the build options; official for what is had prebuilt, rel_o2nofp "
        "for source code if not set",
    )
    take: Literal["newest-of-each-major", "all"] = Field(
        default="all", description="which of the releases between since and until"
    )
    since: Version = Field(default="", description="first version or major taken")
    until: Version = Field(default="", description="last version or major taken")
    revisions: tuple[str, ...] = Field(
        default=(),
        description="exactly these versions; a copy of one, as 17.11#2, is a control (A/A)",
    )
    bisect: str = Field(
        default="",
        description="for releases: the line of commits, of the same target, on which the culprits "
        "of what changes between them are searched",
    )
    newest: int = Field(
        default=0,
        ge=0,
        description="only the newest N of them are measured, and what was measured before stays "
        "on the line; 0 for all",
    )

    @model_validator(mode="after")
    def _explicit_or_selected(self) -> LineSection:
        if self.revisions and self.model_fields_set & {"take", "since", "until", "newest"}:
            raise ValueError("give either revisions, or take, since, until and newest")
        return self


class WorkloadSection(Section):
    """A workload and the configurations it is run with."""

    name: Name = Field(description="how tables and reports call it")
    family: str = Field(default="sysbench", description="the workload family, as sysbench")
    config: Name = Field(default="x10a", description="name of the DBMS configuration")
    configs: dict[str, Name] = Field(
        default_factory=dict,
        description='another configuration for the lines of a target, as { mariadb = "z12b" }',
        json_schema_extra={"default": {}},
    )
    lines: tuple[str, ...] = Field(default=(), description="lines to run on; empty for all")
    steps: tuple[str, ...] = Field(
        default=("all",), description='step or group names, or "all"', min_length=1
    )
    tables: int = Field(default=1, ge=1, description="number of tables")
    rows: int = Field(default=20_000, ge=1000, description="rows per table")
    clients: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(1,), min_length=1, description="numbers of clients, a cell for each"
    )
    measure: Duration = Field(
        default=1.0, description="measured time of a step", json_schema_extra={"default": "1s"}
    )
    warmup: Duration = Field(
        default=0.25,
        description="time a step runs before it is measured",
        json_schema_extra={"default": "250ms"},
    )
    options: dict[str, OptionValue] = Field(
        default_factory=dict,
        description="settings that the family has of its own, as { rows_i1 = 100000 }",
        json_schema_extra={"default": {}},
    )
    profile: bool = Field(
        default=False,
        description="keep a CPU profile of the server of every step; such runs share no series "
        "with those without",
    )


class DetectSection(Section):
    """What counts as a change."""

    metrics: tuple[str, ...] = Field(
        default=("qps", "cpu_us/o"), min_length=1, description="the metrics that are looked at"
    )
    wrong_issues_per_month: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="the false-alarm budget: issues about nothing that may be filed in a month",
    )
    alarms_per_1000: float | None = Field(
        default=None,
        gt=0,
        lt=100,
        description="false alarms to expect of one series in 1000 nights; if not set, what follows "
        "from the budget, and at most 0.5",
    )
    min_effect: Percent = Field(
        default=0.03,
        description="smallest change worth a word",
        json_schema_extra={"default": "3%"},
    )


class ConfirmSection(Section):
    """How suspected regressions are measured again."""

    smallest_effect: Percent = Field(
        default=0.02,
        gt=0,
        lt=1,
        description="smallest change that is confirmed, and that is excluded to reject",
        json_schema_extra={"default": "2%"},
    )
    budget: Duration = Field(
        default=180.0,
        description="measured time of one regression",
        json_schema_extra={"default": "3m"},
    )
    night: Duration = Field(
        default=300.0,
        description="measured time of all regressions of a night, worst first",
        json_schema_extra={"default": "5m"},
    )
    blocks: int = Field(
        default=40, ge=3, le=200, description="blocks after which it is left undecided"
    )
    figures: int = Field(
        default=6, ge=1, le=50, description="only so many figures, those that changed most"
    )


class BisectSection(Section):
    """How the culprits of confirmed regressions are searched."""

    night: Duration = Field(
        default=1800.0,
        description="measured time of all bisections of a night; 0 for none",
        json_schema_extra={"default": "30m"},
    )


class RuleSection(Section):
    """What counts as a change in some series, where that is not as in [detect].

    Of several rules that say something of a series the most specific one wins.
    """

    target: str = Field(default="*", description="of which targets: a shell pattern")
    line: str = Field(default="*", description="of which lines")
    workload: str = Field(default="*", description="of which workloads")
    step: str = Field(default="*", description='of which steps, as "scan*"')
    metric: str = Field(default="*", description="of which metrics")
    min_effect: Percent | None = Field(default=None, description="smallest change worth a word")
    alarms_per_1000: float | None = Field(
        default=None,
        gt=0,
        lt=100,
        description="false alarms to expect of one series in 1000 nights",
    )
    mute: bool | None = Field(default=None, description="whether nothing is told of them")
    direction: Literal["worse", "better", "both"] | None = Field(
        default=None, description="which changes are told: worse, better or both"
    )

    @property
    def pattern(self) -> Pattern:
        """The series that are meant."""
        return Pattern(**{name: getattr(self, name) for name in Pattern.model_fields})


class ColourLook(NamedTuple):
    """What a colour is called on a terminal, and as the paper of a cell in HTML."""

    terminal: str
    paper: str


Colour = Literal["red", "yellow", "green", "blue", "cyan", "magenta", "grey"]
"""The colours of tables."""

COLOURS: dict[Colour, ColourLook] = {
    "red": ColourLook("red", "#f8b4ad"),
    "yellow": ColourLook("yellow", "#fbe58d"),
    "green": ColourLook("green", "#b5e3b0"),
    "blue": ColourLook("blue", "#b3d4f5"),
    "cyan": ColourLook("cyan", "#a9e4e8"),
    "magenta": ColourLook("magenta", "#ecbfe8"),
    "grey": ColourLook("bright_black", "#dfe3e7"),
}


class ReportSection(Section):
    """How tables are coloured: relative throughput at or beyond these is marked."""

    worse: float = Field(
        default=0.95, gt=0, le=1, description="relative throughput at or below is worse"
    )
    better: float = Field(
        default=1.05, ge=1, description="relative throughput at or above is better"
    )
    worse_colour: Colour = Field(default="yellow", description="colour of what is worse")
    better_colour: Colour = Field(default="blue", description="colour of what is better")
    between_colour: Colour | Literal[""] = Field(
        default="", description="colour of what is neither; empty for none"
    )
    missed_colour: Colour = Field(
        default="red", description="colour of an achieved rate below 95 % of its target"
    )
    further: tuple[tuple[Annotated[float, Field(gt=0)], Colour], ...] = Field(
        default=(),
        description="colours of what is much worse or much better, as "
        '[[0.75, "red"], [1.5, "green"]]: below 1 for relative throughput at or below, from 1 on '
        "for at or above",
    )


class NotifySection(Section):
    """Where regressions are told."""

    sink: Literal["directory"] = Field(
        default="directory", description="directory: a markdown file for each regression"
    )
    folder: Path | None = Field(
        default=None, description="where the files go; by default issues in paths.results"
    )
    suspected: bool = Field(
        default=False, description="file also what was not confirmed by measuring it again"
    )


class PublishSection(Section):
    """Where time series are published: Prometheus, or another receiver of remote write."""

    url: str = Field(
        default="",
        pattern=RECEIVER,
        description="the receiver's address for remote write, as "
        "http://127.0.0.1:9090/api/v1/write; empty to publish nothing",
    )
    name: Name = Field(
        default="nightshift",
        description="the label pipeline of what is told of the nights, where several publish "
        "to one receiver",
    )
    username: str = Field(default="", description="for a receiver that asks for one")
    secret: str = Field(
        default="",
        pattern=VARIABLE,
        description="name of the environment variable that holds the password of that user or, "
        "without one, a bearer token; empty for a receiver that asks for neither",
    )
    certificate: Path | None = Field(
        default=None,
        description="file of the authority that the receiver's certificate is checked by, where "
        "the machine does not know it",
    )
    patience: Duration = Field(
        default=30.0,
        description="time that a receiver which does not answer is given; what is left is "
        "published the next time",
        json_schema_extra={"default": "30s"},
    )

    @model_validator(mode="after")
    def _password(self) -> PublishSection:
        if self.username and not self.secret:
            raise ValueError("a username needs secret, the name of the variable with its password")
        return self


class HubSection(Section):
    """Prometheus and Grafana on one machine, by `nightshift hub up`."""

    folder: Path | None = Field(
        default=None, description="where their data is; by default hub in paths.results"
    )
    host: str = Field(
        default="127.0.0.1",
        description="IP address that both listen on; beyond loopback nothing asks for a password "
        "but Grafana",
    )
    prometheus_port: int = Field(default=9090, ge=1, le=65535, description="port of Prometheus")
    grafana_port: int = Field(default=3000, ge=1, le=65535, description="port of Grafana")
    retention: str = Field(
        default="100y",
        pattern=AGE,
        description="age at which samples are deleted, as 5y, 8w or 90d",
    )
    alertmanager: str = Field(
        default="",
        pattern=HOST_PORT,
        description="HOST:PORT of an Alertmanager; none if empty",
    )
    publish: Duration = Field(
        default=300.0,
        ge=1,
        description="how often what is new is published",
        json_schema_extra={"default": "5m"},
    )
    report_url: str = Field(
        default="", pattern=ADDRESS, description="where the report page is served, for links"
    )
    site_url: str = Field(
        default="", pattern=ADDRESS, description="where the trend site is served, for links"
    )
    issues_url: str = Field(
        default="",
        pattern=ADDRESS,
        description="where issues are, which a regression's fingerprint is looked for in",
    )

    @property
    def links(self) -> dict[str, str]:
        """Where the dashboards' links lead to, by the names of their constants."""
        return {name: getattr(self, name) for name in ("report_url", "site_url", "issues_url")}

    @model_validator(mode="after")
    def _address(self) -> HubSection:
        try:
            ip_address(self.host)
        except ValueError as error:
            raise ValueError(f"host {self.host!r} is no IP address, as 127.0.0.1") from error
        return self


class Quick(Section):
    """What --quick puts in place of the settings above: a real night in two minutes."""

    repetitions: int = Field(default=2, ge=1, le=100, description="runs of every cell")
    newest: int = Field(default=2, ge=1, description="only the newest N revisions of a line")
    steps: tuple[str, ...] = Field(
        default=("point-query", "scan", "update-index"),
        min_length=1,
        description="step or group names",
    )
    rows: int = Field(default=5000, ge=1000, description="rows per table")
    measure: Duration = Field(
        default=1.0, description="measured time of a step", json_schema_extra={"default": "1s"}
    )
    warmup: Duration = Field(
        default=0.1,
        description="time a step runs before it is measured",
        json_schema_extra={"default": "100ms"},
    )


class Config(Section):
    """The whole file."""

    paths: Paths = Field(default_factory=Paths)
    store: StoreSection = Field(default_factory=StoreSection)
    machine: MachineSection = Field(default_factory=MachineSection)
    night: Night = Field(default_factory=Night)
    build: tuple[BuildSection, ...] = ()
    patch: tuple[PatchSection, ...] = ()
    line: tuple[LineSection, ...] = ()
    workload: tuple[WorkloadSection, ...] = ()
    detect: DetectSection = Field(default_factory=DetectSection)
    confirm: ConfirmSection = Field(default_factory=ConfirmSection)
    bisect: BisectSection = Field(default_factory=BisectSection)
    rule: tuple[RuleSection, ...] = ()
    report: ReportSection = Field(default_factory=ReportSection)
    notify: NotifySection = Field(default_factory=NotifySection)
    publish: PublishSection = Field(default_factory=PublishSection)
    hub: HubSection = Field(default_factory=HubSection)
    quick: Quick = Field(default_factory=Quick)

    @property
    def store_url(self) -> str:
        """The store's URL, with the default filled in."""
        return self.store.url or f"sqlite:///{(self.paths.results / 'store.db').absolute()}"

    @property
    def issues_folder(self) -> Path:
        """Where the directory sink writes."""
        return self.notify.folder or self.paths.results / "issues"

    @property
    def hub_folder(self) -> Path:
        """Where the hub keeps its data."""
        return (self.hub.folder or self.paths.results / "hub").absolute()


class ConfigFile:
    """A configuration with the text it came from, so that errors can name a line."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UserError(toml_message(path, text, error)) from error
        try:
            self.config = _validated(raw)
        except ValidationError as error:
            raise self._first_problem(error) from error
        self._check_references()

    def problem(self, location: Sequence[str | int], message: str) -> UserError:
        """Return the error for a setting: ``nightshift.toml:12: line.take: message``."""
        line = find_line(self.text, location)
        where = ".".join(str(part) for part in location if not isinstance(part, int))
        return UserError(f"{self.path}:{line}: {where}: {message}")

    def _first_problem(self, error: ValidationError) -> UserError:
        # A misspelt setting comes before all: the true one counts as missing then.
        first = min(
            error.errors(),
            key=lambda e: (e["type"] != "extra_forbidden", find_line(self.text, e["loc"])),
        )
        location = first["loc"]
        if first["type"] == "extra_forbidden":
            known = settings_at(Config, location[:-1])
            hint = meant(str(location[-1]), known)
            return self.problem(location, f"there is no such setting; {hint}")
        return self.problem(location, wording(first))

    def _check_references(self) -> None:
        names = [line.name for line in self.config.line]
        self._check_once("line", names)
        self._check_once("build", [options.name for options in self.config.build])
        self._check_once("workload", [workload.name for workload in self.config.workload])
        for index, workload in enumerate(self.config.workload):
            self._check_known(("workload", index, "lines"), "line", workload.lines, names)
        self._check_known(("detect", "metrics"), "metric", self.config.detect.metrics, METRICS)

    def _check_once(self, table: str, names: Sequence[str]) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self.problem((table, index, "name"), f"two {table}s are named {name}")

    def _check_known(
        self, location: Location, kind: str, wanted: Sequence[str], known: Iterable[str]
    ) -> None:
        for at, name in enumerate(wanted):
            if name not in (choices := list(known)):
                raise self.problem(
                    (*location, at), f"there is no {kind} {name!r}; {meant(name, choices)}"
                )


def load_config(path: Path) -> ConfigFile:
    """Read a configuration file. Raises UserError with file and line for any mistake."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(
            f"{path} does not exist; run in the folder that holds it or give --config FILE"
        ) from error
    except IsADirectoryError as error:
        raise UserError(
            f"{path} is a folder; give the file in it, as --config {path / DEFAULT_FILE}"
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")  # Some editors begin a file with a mark of its encoding.
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: not UTF-8; save the file in that encoding") from error
    return ConfigFile(path, text)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of nightshift.toml, for editors."""
    schema = Config.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "nightshift.toml"
    return schema


def _validated(raw: Mapping[str, Any]) -> Config:
    """Validate as strictly as the schema does: "3" is no number and 1 is no boolean.

    Strictness is that of JSON, where a list may stand for a tuple and a text for a path. A
    date, which JSON lacks, goes in as what no setting takes.
    """
    text = json.dumps(raw, default=lambda moment: {"date": str(moment)})
    return Config.model_validate_json(text, strict=True)

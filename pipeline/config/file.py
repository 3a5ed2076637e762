"""Read ``nightshift.toml`` and check every setting.

An error names the file, the line and a suggestion.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from pipeline.config.analyse import BisectSection, ConfirmSection, DetectSection, RuleSection
from pipeline.config.base import Section
from pipeline.config.build import ArchiveSection, BuildSection, PatchSection
from pipeline.config.config_errors import settings_at, toml_message, wording
from pipeline.config.disturbance import DisturbanceSection
from pipeline.config.fleet import FleetSection
from pipeline.config.machine import ClassSection, MachineSection
from pipeline.config.notify import (
    GithubSection,
    NotifySection,
    SlackSection,
    WebhookSection,
)
from pipeline.config.places import Paths, StoreSection
from pipeline.config.plan import ControlSection, LineSection, NightSection, Quick, WorkloadSection
from pipeline.config.preflight import PreflightSection
from pipeline.config.publish import HubSection, PublishSection
from pipeline.config.report import ReportSection
from pipeline.config.server_configs import ServerConfigSection
from pipeline.config.tables import TableSetup
from pipeline.config.toml_lines import Location, find_line
from pipeline.config.transfer import BackupSection, CollectSection, S3Section, SshSection
from pipeline.config.tune import TuneSection
from pipeline.machine.checks import CHECKS
from pipeline.machine.preflight import ALL
from pipeline.model.metrics import METRICS
from pipeline.text.errors import UserError, did_you_mean

DEFAULT_FILE = Path("nightshift.toml")


class Config(Section):
    """The configuration: every table of ``nightshift.toml``."""

    paths: Paths = Field(default_factory=Paths)
    store: StoreSection = Field(default_factory=StoreSection)
    machine: MachineSection = Field(default_factory=MachineSection)
    machine_class: tuple[ClassSection, ...] = Field(default=(), alias="class")
    preflight: PreflightSection = Field(default_factory=PreflightSection)
    tune: TuneSection = Field(default_factory=TuneSection)
    disturbance: DisturbanceSection = Field(default_factory=DisturbanceSection)
    fleet: FleetSection = Field(default_factory=FleetSection)
    night: NightSection = Field(default_factory=NightSection)
    build: tuple[BuildSection, ...] = ()
    patch: tuple[PatchSection, ...] = ()
    archive: tuple[ArchiveSection, ...] = ()
    config: tuple[ServerConfigSection, ...] = ()
    line: tuple[LineSection, ...] = ()
    workload: tuple[WorkloadSection, ...] = ()
    control: tuple[ControlSection, ...] = ()
    detect: DetectSection = Field(default_factory=DetectSection)
    confirm: ConfirmSection = Field(default_factory=ConfirmSection)
    bisect: BisectSection = Field(default_factory=BisectSection)
    rule: tuple[RuleSection, ...] = ()
    table: tuple[TableSetup, ...] = ()
    report: ReportSection = Field(default_factory=ReportSection)
    notify: NotifySection = Field(default_factory=NotifySection)
    github: GithubSection = Field(default_factory=GithubSection)
    webhook: WebhookSection = Field(default_factory=WebhookSection)
    slack: SlackSection = Field(default_factory=SlackSection)
    publish: PublishSection = Field(default_factory=PublishSection)
    hub: HubSection = Field(default_factory=HubSection)
    collect: CollectSection = Field(default_factory=CollectSection)
    backup: BackupSection = Field(default_factory=BackupSection)
    ssh: SshSection = Field(default_factory=SshSection)
    s3: S3Section = Field(default_factory=S3Section)
    quick: Quick = Field(default_factory=Quick)

    @property
    def store_url(self) -> str:
        """The URL of the store; by default a SQLite file in the results folder."""
        return self.store.url or f"sqlite:///{(self.paths.results / 'store.db').absolute()}"

    @property
    def measuring_jobs(self) -> dict[str, int]:
        """How many jobs measure in a night, by machine class.

        Each server runs ``fleet.jobs`` jobs; one job of each class is reserved for repeated
        measurements.
        """
        return {
            each.name: max(1, each.count * self.fleet.jobs - 1)
            for each in self.machine_class
            if each.server_type
        }

    @property
    def issues_folder(self) -> Path:
        """The folder for reports of regressions as files."""
        return self.notify.folder or self.paths.results / "issues"

    @property
    def hub_folder(self) -> Path:
        """The folder for the data of Prometheus and Grafana."""
        return (self.hub.folder or self.paths.results / "hub").absolute()


class ConfigFile:
    """The configuration with the text of its file, so that errors can name a line."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        try:
            raw = tomllib.loads(text)
            self.config = _validated(raw)
        except tomllib.TOMLDecodeError as error:
            raise UserError(toml_message(path, text, error)) from error
        except ValidationError as error:
            raise self._first_problem(error) from error
        except RecursionError as error:
            raise UserError(
                f"the tables or lists in {path} are nested too deeply; remove them: no setting "
                "needs them"
            ) from error
        self._check_references()

    def problem(self, location: Sequence[str | int], message: str) -> UserError:
        """Return the error about a setting: ``nightshift.toml:12: line.take: message``."""
        line = find_line(self.text, location)
        where = ".".join(str(part) for part in location if not isinstance(part, int))
        return UserError(f"{self.path}:{line}: {where}: {message}")

    def _first_problem(self, error: ValidationError) -> UserError:
        # Report a misspelt setting first: it also makes the correct one count as missing.
        first = min(
            error.errors(),
            key=lambda e: (e["type"] != "extra_forbidden", find_line(self.text, e["loc"])),
        )
        location = first["loc"]
        if first["type"] == "extra_forbidden":
            known = settings_at(Config, location[:-1])
            hint = did_you_mean(str(location[-1]), known)
            return self.problem(location, f"unknown setting; {hint}")
        return self.problem(location, wording(first))

    def _check_references(self) -> None:
        names = [line.name for line in self.config.line]
        self._check_once("line", names)
        self._check_once("build", [options.name for options in self.config.build])
        classes = self.config.machine_class
        self._check_once("class", [each.name for each in classes])
        for index, each in enumerate(classes):
            self._check_known(("class", index, "lines"), "line", each.lines, names)
        self._check_once("workload", [workload.name for workload in self.config.workload])
        for index, workload in enumerate(self.config.workload):
            self._check_known(("workload", index, "lines"), "line", workload.lines, names)
        self._check_once("control", [control.name for control in self.config.control])
        for index, control in enumerate(self.config.control):
            self._check_known(
                ("control", index, "workload"),
                "workload",
                [control.workload],
                [workload.name for workload in self.config.workload],
            )
            if classes:
                self._check_known(
                    ("control", index, "classes"),
                    "class",
                    control.classes,
                    [each.name for each in classes],
                )
        self._check_tables()
        self._check_preflight()
        self._check_known(("detect", "metrics"), "metric", self.config.detect.metrics, METRICS)

    def _check_tables(self) -> None:
        self._check_once("table", [table.name for table in self.config.table])
        workloads = [workload.name for workload in self.config.workload]
        for index, table in enumerate(self.config.table):
            at = ("table", index)
            self._check_known((*at, "workloads"), "workload", table.workloads, workloads)
            self._check_known((*at, "metrics"), "metric", table.metrics, METRICS)
            if table.base not in ("", *table.columns):
                raise self.problem(
                    (*at, "base"),
                    f"{table.base} is not among the columns; "
                    f"{did_you_mean(table.base, table.columns)}",
                )

    def _check_preflight(self) -> None:
        lists = self.config.preflight.policy().model_dump(exclude={"wait"})
        levels: dict[str, str] = {}
        for level, names in lists.items():
            self._check_known(("preflight", level), "check", names, (*CHECKS, ALL))
            for at, name in enumerate(names):
                if (other := levels.setdefault(name, level)) != level:
                    where = ("preflight", level, at)
                    raise self.problem(
                        where, f"{name} is in {other} too; remove it from one of the two lists"
                    )

    def _check_once(self, table: str, names: Sequence[str]) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self.problem(
                    (table, index, "name"), f"two {table} tables have the name {name}; rename one"
                )

    def _check_known(
        self, location: Location, kind: str, wanted: Sequence[str], known: Iterable[str]
    ) -> None:
        for at, name in enumerate(wanted):
            if name not in (choices := list(known)):
                raise self.problem(
                    (*location, at),
                    f"there is no {kind} {name!r}; {did_you_mean(name, choices)}",
                )


def load_config(path: Path) -> ConfigFile:
    """Read a configuration file. Raises UserError with file and line for any error."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(
            f"{path} does not exist; change to the folder that holds it, or give --config FILE"
        ) from error
    except IsADirectoryError as error:
        raise UserError(
            f"{path} is a folder; give the file in it: --config {path / DEFAULT_FILE}"
        ) from error
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}; make it readable for this user"
        ) from error
    try:
        text = data.decode("utf-8-sig")  # Some editors write a byte order mark.
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}:{line}: the file is not encoded in UTF-8; save it as UTF-8"
        ) from error
    return ConfigFile(path, text)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of nightshift.toml, for editors."""
    schema = Config.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "nightshift.toml"
    return schema


def _validated(raw: Mapping[str, Any]) -> Config:
    """Validate the settings without conversion: the text "3" is not a number, and 1 is not true.

    In pydantic's strict mode, JSON input may still give a list for a tuple and a text for a path.
    JSON has no dates, so a date is passed as an object that no setting accepts.
    """
    text = json.dumps(raw, default=lambda moment: {"date": str(moment)})
    return Config.model_validate_json(text, strict=True)

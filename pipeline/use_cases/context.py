"""The context of most commands: the configuration, the results, the store, this machine."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config import (
    DEFAULT_FILE,
    Config,
    ConfigFile,
    PublishSection,
    StoreSection,
    load_config,
)
from pipeline.machine.fingerprint import described, fingerprint, scale_name
from pipeline.model import Machine
from pipeline.storage.bundle import BUNDLES
from pipeline.text.errors import UserError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from pipeline.regressions.repository import RegressionRepository


class Context:
    """A configuration with its results, store and machine, each opened when it is needed."""

    def __init__(
        self,
        config: Path = DEFAULT_FILE,
        quick: bool = False,
        results: Path | None = None,
        profile: bool = False,
        needed: bool = True,
    ) -> None:
        """Read ``nightshift.toml``; if not ``needed``, it may be missing."""
        missing = not needed and config == DEFAULT_FILE and not config.exists()
        self.file: ConfigFile = ConfigFile(config, "") if missing else load_config(config)
        self.quick = quick
        self.profile = profile
        self._elsewhere = results
        # Warnings of the preflight since this context was opened, by check.
        self.warned: dict[str, str] = {}

    @property
    def config(self) -> Config:
        """The settings of ``nightshift.toml``."""
        if self._elsewhere is None:
            return self.file.config
        paths = self.file.config.paths.model_copy(update={"results": self._elsewhere})
        # Results in another folder must not go to the team's database, receiver and issues.
        alone = {"sinks": ("directory",), "folder": None}
        return self.file.config.model_copy(
            update={
                "paths": paths,
                "store": StoreSection(),
                "publish": PublishSection(),
                "notify": self.file.config.notify.model_copy(update=alone),
            }
        )

    def clock(self) -> float:
        """Return the time of the clock that all time limits use, in seconds."""
        return time.monotonic()

    @property
    def results(self) -> Path:
        """The folder of all results: bundles, store, reports."""
        return self.config.paths.results

    @property
    def bundles(self) -> Path:
        """The folder of the bundles."""
        return self.results / BUNDLES

    @property
    def cache(self) -> Path:
        """The folder of downloads, builds and running servers."""
        return self.config.paths.cache_folder

    @cached_property
    def store(self) -> Engine:
        """The store (database of results), opened and at the newest schema."""
        # Imported here, so that verbs without the store need not wait for SQLAlchemy.
        from pipeline.storage.database import open_store  # noqa: PLC0415

        return open_store(self.config.store_url)

    @property
    def regressions(self) -> RegressionRepository:
        """All regressions with their present states."""
        from pipeline.regressions.repository import RegressionRepository  # noqa: PLC0415

        return RegressionRepository(self.results)

    @cached_property
    def machine(self) -> Machine:
        """The fingerprint of this machine."""
        return fingerprint(self.config.machine.own_class or None, self.cache)

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """One machine of each class that measures.

        Raises UserError if this machine differs in size from its class.
        """
        classes = self.config.machine_class
        if not classes:
            return (self.machine,)
        for at, section in enumerate(classes):
            has = scale_name(self.machine.cores, self.machine.memory_bytes)
            wanted = scale_name(section.cores, section.memory_gb * 2**30)
            if section.name == self.machine.machine_class and has != wanted:
                raise self.file.problem(
                    ("class", at, "cores"),
                    f"this machine does not fit its class {section.name}: the class has "
                    f"{wanted}, the machine {has}; correct the class, or give this machine "
                    "another one",
                )
        return tuple(described(each.name, each.cores, each.memory_gb) for each in classes)

    def class_machine(self, machine_class: str) -> Machine:
        """Return the machine that stands for a class in plans.

        Raises UserError for a class that the configuration does not declare.
        """
        for machine in self.machines:
            if machine.machine_class == machine_class:
                return machine
        raise UserError(
            f"{self.file.path} declares no machine class {machine_class}; add a [[class]] of this "
            "name"
        )

    @property
    def machine_class(self) -> str:
        """The machine class of this machine."""
        return self.machine.machine_class

    @property
    def measures(self) -> bool:
        """Whether this machine measures; a hub only evaluates results."""
        return self.machine_class in {each.machine_class for each in self.machines}

    def check_class(self) -> None:
        """Raise UserError if this machine belongs to no configured class."""
        if not self.measures:
            names = [each.machine_class for each in self.machines]
            raise UserError(
                f"this machine is of class {self.machine_class}, but {self.file.path} has only "
                f"{', '.join(names)}; set NIGHTSHIFT_MACHINE_CLASS to the right one"
            )

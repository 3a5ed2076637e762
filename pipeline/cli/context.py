"""A configuration at work, as the verbs share it."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.bundle import BUNDLES
from pipeline.config import (
    DEFAULT_FILE,
    Config,
    ConfigFile,
    PublishSection,
    StoreSection,
    load_config,
)
from pipeline.errors import UserError
from pipeline.machine.fingerprint import described, fingerprint, scale_name
from pipeline.model import Machine

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Context:
    """A configuration at work: everything is opened when it is first needed."""

    def __init__(
        self,
        config: Path = DEFAULT_FILE,
        quick: bool = False,
        results: Path | None = None,
        profile: bool = False,
        needed: bool = True,
    ) -> None:
        """Open the configuration; if it is not ``needed``, one that is not there is empty."""
        missing = not needed and config == DEFAULT_FILE and not config.exists()
        self.file: ConfigFile = ConfigFile(config, "") if missing else load_config(config)
        self.quick = quick
        self.profile = profile
        self._elsewhere = results
        # What preflight warned of since this was opened, by check.
        self.warned: dict[str, str] = {}

    @property
    def config(self) -> Config:
        """The settings."""
        if self._elsewhere is None:
            return self.file.config
        paths = self.file.config.paths.model_copy(update={"results": self._elsewhere})
        # A team's database, receiver and issues are not for results that are kept apart.
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
        """Seconds by the clock that every budget is counted with."""
        return time.monotonic()

    @property
    def results(self) -> Path:
        """Where bundles, the store and reports are."""
        return self.config.paths.results

    @property
    def bundles(self) -> Path:
        """Where bundles are."""
        return self.results / BUNDLES

    @property
    def cache(self) -> Path:
        """Where downloads, builds and running servers are."""
        return self.config.paths.cache_folder

    @cached_property
    def store(self) -> Engine:
        """The store, opened and migrated."""
        # Verbs that do not open the store are not to wait for SQLAlchemy.
        from pipeline.store.database import open_store  # noqa: PLC0415

        return open_store(self.config.store_url)

    @cached_property
    def machine(self) -> Machine:
        """This machine."""
        return fingerprint(self.config.machine.own_class or None, self.cache)

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """One machine of each class that measures; without classes, this machine.

        Raises UserError where this machine is of a class whose size is not its own.
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
                    f"this machine is said to be of class {section.name}, which is {wanted}, and "
                    f"it is {has}",
                )
        return tuple(described(each.name, each.cores, each.memory_gb) for each in classes)

    @property
    def machine_class(self) -> str:
        """The class of this machine."""
        return self.machine.machine_class

    @property
    def measures(self) -> bool:
        """Whether this machine is of a class that measures; a hub only concludes."""
        return self.machine_class in {each.machine_class for each in self.machines}

    def check_class(self) -> None:
        """Refuse to measure on a machine that is of no class of the configuration."""
        if not self.measures:
            names = [each.machine_class for each in self.machines]
            raise UserError(
                f"this machine is of class {self.machine_class}, and {self.file.path} has "
                f"{', '.join(names)}; tell which it is by NIGHTSHIFT_MACHINE_CLASS"
            )

"""The configurations of a target: files in configs/<family>/<since><suffix>, scaled.

A family keeps one intent over all majors, with what each major calls it. A file is for the major
that it is named for and those after it, up to the next file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from pipeline.errors import UserError
from pipeline.machine.fingerprint import scale_name
from pipeline.model import Machine, Revision, ServerConfig


@dataclass(frozen=True)
class ConfigFiles:
    """The configuration files of one target, in ``root``.

    Their text has names in braces for what depends on the machine.
    """

    target: str
    root: Traversable
    suffix: str

    def families(self) -> Mapping[str, tuple[str, ...]]:
        """Return the majors that each family has a file for, ascending."""
        return {
            family.name: tuple(
                sorted(
                    (file.name.removesuffix(self.suffix) for file in family.iterdir()),
                    key=_numbers,
                )
            )
            for family in sorted(self.root.iterdir(), key=lambda entry: entry.name)
            if family.is_dir()
        }

    def config(
        self, family: str, revision: Revision, machine: Machine, scale: Mapping[str, int | str]
    ) -> ServerConfig:
        """Return a family's configuration for a revision, with the values of ``scale``."""
        known = self.families()
        if family not in known:
            raise UserError(
                f"{self.target} has no config {family!r}; there is {', '.join(known)}: change "
                "the workload's config, or its lines"
            )
        # Of a commit the major may not be known; it is the newest code there is.
        fitting = [
            since
            for since in known[family]
            if not revision.major or _numbers(since) <= _numbers(revision.major)
        ]
        if not fitting:
            raise UserError(
                f"config {family} has no file for {self.target} {revision.major}; it begins with "
                f"{known[family][0]}"
            )
        file = self.root / family / f"{fitting[-1]}{self.suffix}"
        return ServerConfig(
            family=family,
            name=f"{family}_{scale_name(machine.cores, machine.memory_bytes)}",
            text=file.read_text(encoding="utf-8").format_map(scale),
        )


def _numbers(major: str) -> tuple[int, ...]:
    return tuple(int(number) for number in major.split("."))


class NotASettingError(ValueError):
    """A variable that no configuration can set, or a value that it cannot be given."""


def with_line(config: ServerConfig, line: str) -> ServerConfig:
    """Return a configuration with a line more at its end, where the last word counts."""
    return config.model_copy(update={"text": f"{config.text.rstrip()}\n{line}\n"})


def with_option(config: ServerConfig, name: str, value: str) -> ServerConfig:
    """Return a my.cnf with the value that a server reported of a global variable.

    Raises NotASettingError for a value of more than one line.
    """
    if "\n" in value:
        raise NotASettingError(f"the value of {name} has more than one line")
    # Backslashes are escapes in an option file; quotes keep a # from beginning a comment.
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return with_line(config, f'{name} = "{escaped}"' if value else f"{name} =")

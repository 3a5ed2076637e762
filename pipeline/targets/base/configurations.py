"""Named configuration files of a DBMS, scaled to the machine: configs/<family>/<since><suffix>.

All files of a family have one purpose, in the option names of their majors. A file applies to the
major in its name and to later ones, up to the next file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from pipeline.machine.fingerprint import scale_name
from pipeline.model import Machine, Revision, ServerConfig
from pipeline.text.errors import UserError


@dataclass(frozen=True)
class ConfigFiles:
    """The configuration files of one DBMS, in the folder ``configs`` of its package.

    Their text has placeholders in braces for the values that ``scale`` returns, which depend on the
    machine or the release.
    """

    target: str
    suffix: str
    scale: Callable[[Machine, Revision], Mapping[str, int | str]]

    @property
    def root(self) -> Traversable:
        """The folder of all configuration families of the DBMS."""
        return _root(self.target)

    def families(self) -> Mapping[str, tuple[str, ...]]:
        """Return for each configuration family the major versions that have a file."""
        return _families(self.target, self.suffix)

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return the named configuration (``family``, as x10a) for a revision and machine."""
        known = self.families()
        if family not in known:
            raise UserError(
                f"{self.target} has no config {family!r}; choose one of {', '.join(known)} in "
                "the workload's config, or change the workload's lines"
            )
        # A commit may have no major; it counts as the newest code.
        fitting = [
            since
            for since in known[family]
            if not revision.major or _numbers(since) <= _numbers(revision.major)
        ]
        if not fitting:
            raise UserError(
                f"config {family} has no file for {self.target} {revision.major}; its first "
                f"supported version is {known[family][0]}"
            )
        template = _template(self.target, f"{family}/{fitting[-1]}{self.suffix}")
        return _server_config(
            family,
            f"{family}_{scale_name(machine.cores, machine.memory_bytes)}",
            template.format_map(self.scale(machine, revision)),
        )


# A line of thousands of commits asks for the same files, and gets the same configuration.


@cache
def _root(target: str) -> Traversable:
    return files("pipeline.targets") / target / "configs"


@cache
def _families(target: str, suffix: str) -> Mapping[str, tuple[str, ...]]:
    return {
        family.name: tuple(
            sorted((file.name.removesuffix(suffix) for file in family.iterdir()), key=_numbers)
        )
        for family in sorted(_root(target).iterdir(), key=lambda entry: entry.name)
        if family.is_dir()
    }


@cache
def _template(target: str, path: str) -> str:
    return (_root(target) / path).read_text(encoding="utf-8")


@cache
def _server_config(family: str, name: str, text: str) -> ServerConfig:
    return ServerConfig(family=family, name=name, text=text)


def _numbers(major: str) -> tuple[int, ...]:
    return tuple(int(number) for number in major.split("."))


class NotASettingError(ValueError):
    """A configuration file cannot set this variable, or not to this value."""


def with_line(config: ServerConfig, line: str) -> ServerConfig:
    """Return a configuration with a line added at the end; an option's last occurrence counts."""
    return config.model_copy(update={"text": f"{config.text.rstrip()}\n{line}\n"})


def with_option(config: ServerConfig, name: str, value: str) -> ServerConfig:
    """Return a my.cnf with one global variable changed to a value that a server reported.

    Raises NotASettingError for a value of more than one line.
    """
    if "\n" in value:
        raise NotASettingError(f"the value of {name} has more than one line")
    # Backslashes are escapes in an option file. Quotes keep a # from starting a comment.
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return with_line(config, f'{name} = "{escaped}"' if value else f"{name} =")

"""Named configuration files of a DBMS, scaled to the machine: configs/<family>/<since><suffix>.

All files of a family serve one purpose; each uses the option names of its majors. A file applies to
the major in its name and to later ones, up to the next file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from pipeline.machine.fingerprint import memory_gb, scale_name
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
        template = self._template(f"{family}/{fitting[-1]}{self.suffix}")
        return _server_config(
            family,
            f"{family}_{scale_name(machine.cores, machine.memory_bytes)}",
            template.format_map(self.scale(machine, revision)),
        )

    def _template(self, path: str) -> str:
        """Return the text of a file, with the files that it includes."""
        return "".join(
            self._template(f"{found[1]}{self.suffix}") if (found := _INCLUDE.match(line)) else line
            for line in _template(self.target, path).splitlines(keepends=True)
        )


_INCLUDE = re.compile(r"@include (\S+)$")
"""A line that includes another file, as ``@include z12a/8.4``."""


class PublishedScale(NamedTuple):
    """How the sizes in a published configuration are scaled to a machine.

    ``gb`` is the memory of the published machine whose sizes are used: the largest that is no
    larger than this machine, or else the smallest. ``share`` is this machine's memory divided by
    ``gb``.
    """

    gb: int
    share: float

    def memory(self, published_mb: float, step: int = 1) -> int:
        """Return a published memory size (MB) scaled to this machine, as a multiple of ``step``."""
        return max(step, int(published_mb * self.share) // step * step)

    def at_most(self, published_mb: float, step: int = 1) -> int:
        """Return a published size (MB) scaled down for a smaller machine, but never scaled up."""
        return max(step, int(published_mb * min(self.share, 1.0)) // step * step)


def published_scale(machine: Machine, sizes: Collection[int]) -> PublishedScale:
    """Return how to scale configurations published for machines with ``sizes`` GB to a machine."""
    gb = memory_gb(machine.memory_bytes)
    fitting = max((size for size in sizes if size <= gb), default=min(sizes))
    return PublishedScale(fitting, gb / fitting)


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


def option(config: ServerConfig, name: str) -> str | None:
    """Return the value of an option in a configuration's text; None if it is not set.

    The last occurrence counts. Dashes and underscores are equivalent, as in option files of MySQL;
    the prefix ``loose_`` and quotes are ignored.
    """
    pattern = rf"(?im)^(?:--)?(?:loose[-_])?{name.replace('_', '[-_]')}\s*=\s*([^#\n]*)"
    found = re.findall(pattern, config.text)
    return found[-1].strip().strip("'\"") if found else None


def numeric_option(config: ServerConfig, name: str, default: int) -> int:
    """Return the whole number that an option is set to, or else the server's ``default``."""
    value = option(config, name)
    return int(value) if value is not None and value.isdecimal() else default


class NotASettingError(ValueError):
    """A configuration file cannot set this variable, or cannot set it to this value."""


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

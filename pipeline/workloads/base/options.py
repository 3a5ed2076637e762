"""The settings that a family has of its own, beyond scale and steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pipeline.errors import meant
from pipeline.model import OptionValue
from pipeline.units import parse_duration

_T = TypeVar("_T")


class OptionError(ValueError):
    """A setting of a family that it does not have, or a value that it does not take.

    ``option`` is its name.
    """

    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.option = option


class Option(NamedTuple):
    """One setting: ``read`` turns what was written into its value, or raises ValueError.

    Not ``quick`` is one that goes with the scale: --quick, which has a scale of its own, leaves
    it out.
    """

    name: str
    help: str
    read: Callable[[OptionValue], OptionValue]
    quick: bool = True


def checked(options: Mapping[str, OptionValue], known: Sequence[Option]) -> dict[str, OptionValue]:
    """Return the options with their values read. Raises OptionError."""
    by_name = {option.name: option for option in known}
    values: dict[str, OptionValue] = {}
    for name, written in options.items():
        if name not in by_name:
            hint = meant(name, by_name) if by_name else "this family has none"
            raise OptionError(name, f"there is no option {name!r}; {hint}")
        try:
            values[name] = by_name[name].read(written)
        except ValueError as error:
            raise OptionError(name, str(error)) from error
    return values


def whole_number(least: int) -> Callable[[OptionValue], OptionValue]:
    """Read a whole number of at least ``least``."""

    def read(written: OptionValue) -> OptionValue:
        if isinstance(written, bool) or not isinstance(written, int) or written < least:
            raise ValueError(f"must be a whole number of at least {least}, not {written!r}")
        return written

    return read


def duration(written: OptionValue) -> OptionValue:
    """Read a time: seconds, or a text as "15m"."""
    if isinstance(written, bool):
        raise ValueError('must be a time, as "15m"')
    return parse_duration(written)


def one_of(*choices: str) -> Callable[[OptionValue], OptionValue]:
    """Read one of some words."""

    def read(written: OptionValue) -> OptionValue:
        if written not in choices:
            raise ValueError(f"there is no {written!r}; {meant(str(written), choices)}")
        return written

    return read

"""The settings of a workload family, in addition to scale and steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pipeline.model import OptionValue
from pipeline.text.errors import did_you_mean
from pipeline.text.units import parse_duration


class OptionError(ValueError):
    """A workload family has no setting of this name, or its value is not allowed.

    ``option`` is the name of the setting.
    """

    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.option = option


class Option(NamedTuple):
    """A setting of a workload family; ``read`` checks and converts its value.

    ``quick`` is False for a setting that depends on the scale: --quick uses a smaller scale and
    ignores such settings.
    """

    name: str
    help: str
    read: Callable[[OptionValue], OptionValue]
    quick: bool = True


def checked(options: Mapping[str, OptionValue], known: Sequence[Option]) -> dict[str, OptionValue]:
    """Return the settings of a workload with checked values. Raises OptionError."""
    by_name = {option.name: option for option in known}
    values: dict[str, OptionValue] = {}
    for name, written in options.items():
        if name not in by_name:
            hint = did_you_mean(name, by_name) if by_name else "this family has no options"
            raise OptionError(name, f"there is no option {name!r}; {hint}")
        try:
            values[name] = by_name[name].read(written)
        except ValueError as error:
            raise OptionError(name, str(error)) from error
    return values


def whole_number(least: int) -> Callable[[OptionValue], OptionValue]:
    """Return a function that checks that a value is a whole number of at least ``least``."""

    def read(written: OptionValue) -> OptionValue:
        if isinstance(written, bool) or not isinstance(written, int) or written < least:
            raise ValueError(f"must be a whole number of at least {least}, not {written!r}")
        return written

    return read


def check_whole_seconds(program: str, seconds: float) -> None:
    """Raise ValueError for a time that is not a whole number of seconds."""
    if seconds != int(seconds) or seconds < 1:
        raise ValueError(f"{program} measures whole seconds, not {seconds:g} s")


def duration(written: OptionValue) -> OptionValue:
    """Read a duration: seconds, or a text such as "15m"."""
    if isinstance(written, bool):
        raise ValueError('must be a duration, for example "15m"')
    return parse_duration(written)


def one_of(*choices: str) -> Callable[[OptionValue], OptionValue]:
    """Return a function that checks that a value is one of the given words."""

    def read(written: OptionValue) -> OptionValue:
        if written not in choices:
            raise ValueError(f"{written!r} is not valid; {did_you_mean(str(written), choices)}")
        return written

    return read

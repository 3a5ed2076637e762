"""Layouts: the same code built again, at other addresses.

The build options ``NAME~1`` are those of NAME with another layout: a compiled build is linked with
its functions in another order or alignment, an official binary is installed once more, which is a
copy at another place in memory. The instructions are the same. A difference in time that comes and
goes with the layout says nothing about the code (Mytkowicz et al. 2009).
"""

from __future__ import annotations

from pipeline.model import BuildOptions

_MARK = "~"
"""Separates build options from the number of a layout; no configured name has it."""

FLAGS = (
    "-ffunction-sections -Wl,--sort-section=name",
    "-falign-functions=64",
)
"""Compiler and linker flags of the layouts: functions sorted by name, and each at the beginning of
a cache line. Neither changes what a function executes."""


def with_layout(options: str, number: int) -> str:
    """Return the name of build options with a layout; layouts are numbered from 1."""
    return f"{options}{_MARK}{number}"


def split_layout(name: str) -> tuple[str, int]:
    """Split the name of build options into the name without layout and the layout's number.

    A name without a layout, or with an unknown one, is returned unchanged, with the number 0.
    """
    options, _, number = name.partition(_MARK)
    known = number.isascii() and number.isdecimal() and 1 <= int(number) <= len(FLAGS)
    return (options, int(number)) if known else (name, 0)


def laid_out(options: BuildOptions, number: int) -> BuildOptions:
    """Return build options with the flags of a layout; unchanged for 0."""
    if not number:
        return options
    return options.model_copy(
        update={
            "name": with_layout(options.name, number),
            "flags": f"{options.flags} {FLAGS[number - 1]}",
        }
    )

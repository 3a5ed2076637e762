"""Compile source code: run the commands of a recipe, and log their output."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from pipeline.machine.account import Account
from pipeline.model import BuildOptions
from pipeline.targets.base import Compilation, Recipe
from pipeline.text.errors import UserError

EPOCH = "1000000000"
"""The build time that programs see (s since 1970), so that equal code gives equal binaries."""

FULL = "No space left on device"
"""The system's error message for a full disk, which every program prints."""

LEAST_ROOM = 64 << 20
"""Free bytes on disk below which a failed command is blamed on the disk, not on the revision."""

_ERROR = re.compile(
    # cmake prefixes failed probes with dashes; they are no errors.
    r"^(?!-- ).*(?:\b(?:fatal )?error\b[: ]|undefined reference|: No such file|not found)",
    re.I,
)
_COMPANIONS = {"gcc": "g++", "clang": "clang++"}


class CompileError(Exception):
    """A revision cannot be compiled; the text is one line, the log has the rest."""


def compiler_of(options: BuildOptions) -> tuple[str, str]:
    """Return the C and C++ compilers of some build options. Raises UserError if one is missing."""
    program = Path(options.compiler)
    # gcc-12 goes with g++-12.
    stem = re.match(r"gcc|clang", program.name)
    companion = _COMPANIONS.get(stem[0], program.name) if stem else program.name
    cxx = companion + program.name[len(stem[0]) :] if stem else program.name
    names = (options.compiler, str(program.with_name(cxx)))
    for name in names:
        if shutil.which(name) is None:
            raise UserError(
                f"the compiler {name} of the build options {options.name!r} is not installed; "
                "install its package, or name another in [[build]]"
            )
    return names


def flags_of(options: BuildOptions) -> str:
    """Return the compiler and linker flags of some build options."""
    return f"{options.flags} -flto" if options.lto else options.flags


def archivers(options: BuildOptions) -> Mapping[str, str]:
    """Return the archive programs that a compiler needs, as make variables.

    Archives for link-time optimisation need an index that the default programs cannot write.
    """
    if not options.lto:
        return {}
    tools = "llvm-" if Path(options.compiler).name.startswith("clang") else "gcc-"
    return {"AR": f"{tools}ar", "RANLIB": f"{tools}ranlib"}


def toolchain(options: BuildOptions) -> str:
    """Return the versions of compiler and linker, which are part of a build's identity."""
    answers = []
    for program in (*compiler_of(options), "ld"):
        shown = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False, errors="replace"
        )
        answers.append(shown.stdout.partition("\n")[0].strip())
    return "; ".join(answers)


def environment_of(work: Compilation, cache: Path | None) -> Mapping[str, str]:
    """Return all environment variables for the commands of a build.

    ``cache`` is the folder of ccache; None to compile without ccache.
    """
    seen = {
        "PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
        "HOME": str(work.tree.parent),
        "LC_ALL": "C",
        "TZ": "UTC",
        "SOURCE_DATE_EPOCH": EPOCH,
        "CC": work.compiler,
        "CXX": work.cxx,
        "CFLAGS": work.flags,
        "CXXFLAGS": work.flags,
    }
    if work.options.lto:
        seen |= {"LDFLAGS": work.flags, **archivers(work.options)}
    if cache is not None:
        seen |= {
            "CCACHE_DIR": str(cache),
            "CCACHE_BASEDIR": str(work.tree),
            "CCACHE_NOHASHDIR": "1",
            # Identify the compiler by its content: after an upgrade, old objects must not match.
            "CCACHE_COMPILERCHECK": "content",
            "CCACHE_SLOPPINESS": "time_macros",
        }
    return seen


def run_recipe(
    work: Compilation, recipe: Recipe, account: Account, cache: Path | None, log: IO[bytes]
) -> None:
    """Run the commands of a recipe, then copy its files into the folder of the build.

    Raises CompileError for a revision that does not build, and UserError for a full disk.
    """
    environment = {**environment_of(work, cache), **recipe.environment}
    for command in recipe.commands:
        log.write(f"$ {' '.join(command)}\n".encode())
        log.flush()
        try:
            code = _run(command, work.tree / recipe.folder, environment, account, log)
        except FileNotFoundError as error:
            raise CompileError(f"{command[0]} does not exist") from error
        if code:
            raise _failure(command, code, Path(log.name))
    for name, to in recipe.copies:
        _copy(work.tree / name, work.home / to)


def _run(
    command: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    account: Account,
    log: IO[bytes],
) -> int:
    with subprocess.Popen(
        account.command(*command),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
    ) as process:
        try:
            return process.wait()
        except BaseException:
            # make leaves its compilers behind; they are in its process group.
            os.killpg(process.pid, signal.SIGKILL)
            raise


def _copy(path: Path, to: Path) -> None:
    if not path.exists():
        raise CompileError(f"the build produced no {path.name}")
    to.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, to, symlinks=True)
    else:
        shutil.copy2(path, to)


def _failure(command: Iterable[str], code: int, log: Path) -> Exception:
    """Return the error for a failed command, with the last error line of its log."""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - (1 << 18), 0))
        text = file.read().decode(errors="replace")
    output = text[text.rfind("\n$ ") + 1 :].splitlines()[1:]
    # With a full disk even the log's last lines may be missing.
    if FULL in text or shutil.disk_usage(log.parent).free < LEAST_ROOM:
        return UserError(no_room(log.parent))
    how = f"exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"
    at = next((at for at, line in enumerate(output) if _ERROR.search(line)), len(output) - 1)
    reason = output[at].strip() if output else how
    if reason.endswith(":"):  # cmake prints the place first and the reason below it.
        reason = " ".join(
            [reason, *(line.strip() for line in output[at + 1 :] if line.strip())][:2]
        )
    return CompileError(f"{next(iter(command))}: {reason}")


def no_room(folder: Path) -> str:
    """Return the error message for a disk that is too full to compile on."""
    return (
        f"no space left for a build in {folder}; free some space, or set paths.cache in "
        "nightshift.toml to a folder with more space"
    )


def linked_libraries(program: Path) -> tuple[str, ...]:
    """Return which libraries of this machine a program is linked with, sorted."""
    shown = subprocess.run(
        ["ldd", str(program)], capture_output=True, text=True, check=False, errors="replace"
    )
    names = (line.split()[0] for line in shown.stdout.splitlines() if line.split())
    return tuple(sorted({Path(name).name for name in names if ".so" in name}))

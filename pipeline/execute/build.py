"""Build: a revision becomes an installed build, once."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from pipeline.errors import UserError, first_line, meant
from pipeline.execute.cache import BuildCache, BuildRecord
from pipeline.machine.account import Account
from pipeline.model import Build, BuildOptions, Frozen, Provenance, Revision, Supply, digest
from pipeline.sources import source_for
from pipeline.sources.base import Fetched
from pipeline.targets import find_target
from pipeline.targets.base import Compilation, Identity
from pipeline.targets.base.archives import source_members, unpacked
from pipeline.targets.base.compile import (
    CompileError,
    compiler_of,
    flags_of,
    linked_libraries,
    no_room,
    run_recipe,
    toolchain,
)
from pipeline.targets.base.programs import program_hash
from pipeline.targets.base.times import newest_time, time_of

OFFICIAL = "official"
"""The build options of a binary that its makers or packagers built."""

_INSTALL = 2
"""Version of how prebuilt releases are installed; 2: with the times that their archive gives them.
Those of an older one are installed again."""

SHIPPED_OPTIONS = {
    options.name: options
    for options in (
        BuildOptions(name="rel_o2nofp"),
        BuildOptions(name="rel_o2nofp_clang", compiler="clang"),
        BuildOptions(name="rel_o2nofp_clang_lto", compiler="clang", lto=True),
        BuildOptions(name="rel_o3native", flags="-O3 -march=native -fno-omit-frame-pointer"),
    )
}
"""The build options that need no [[build]] in the configuration: those of the published reports."""


class Patch(Frozen):
    """A change to the source code of some revisions, as old ones need for new compilers.

    ``text`` is what the program patch reads. It is applied to releases of ``target`` whose
    numbers are from ``since`` up to those that begin with ``until``; empty means no bound.
    """

    target: str
    name: str
    text: str
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = ()

    def applies(self, revision: Revision) -> bool:
        """Say whether a revision is in the range. Commits are if there is no bound."""
        if revision.target != self.target:
            return False
        if revision.supply is not None and revision.supply.commits:
            return not (self.since or self.until)
        ends = revision.order[: len(self.until)]
        return revision.order >= self.since and (not self.until or ends <= self.until)


class NotBuiltError(Exception):
    """A revision of which there is no build; the text is one line that says why."""


class Builder:
    """Where builds come from: fetched or compiled, kept, and found again.

    ``account`` is who compiles, ``options`` are the known build options by name. At most
    ``at_once`` compilations run side by side, each of at most ``jobs`` commands (0: as many as
    there are processors for). A revision that does not build is remembered as such.
    """

    def __init__(
        self,
        cache: Path,
        account: Account,
        *,
        options: Mapping[str, BuildOptions] = SHIPPED_OPTIONS,
        patches: Sequence[Patch] = (),
        at_once: int = 1,
        jobs: int = 0,
        limit: int | None = None,
    ) -> None:
        self.at_once = at_once
        self._cache = cache
        self.builds = BuildCache(cache / "builds", limit)
        self._account = account
        self._options = options
        self._patches = patches
        self._jobs = jobs or max((os.cpu_count() or 1) // at_once, 1)

    def known_options(self) -> list[str]:
        """Return the names of all build options."""
        return [OFFICIAL, *self._options]

    def find(self, revision: Revision, options: str) -> Build | None:
        """Return the build if it is installed on this machine. Controls share what they copy."""
        record = self.builds.record(revision.target, self._request(revision, options))
        return record.build if record else None

    def log(self, revision: Revision, options: str) -> Path:
        """Return where what was said during the build of a revision is kept."""
        return self.builds.log(revision.target, self._request(revision, options))

    def forget(self, revision: Revision, options: str) -> None:
        """Forget that a revision did not build."""
        self.builds.forget(revision.target, self._request(revision, options))

    def obtain(self, revision: Revision, options: str) -> Build:
        """Return the build of a revision, fetched or compiled unless it is here already.

        Raises NotBuiltError for a revision that does not build, now or when it was last tried,
        and UserError for what has nothing to do with the revision.
        """
        request = self._request(revision, options)
        record = self.builds.record(revision.target, request)
        if record is None:
            try:
                record = self._made(revision, options, request)
                self.builds.keep(revision.target, request, record)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise UserError(no_room(self._cache)) from error
                raise
            self.builds.expire()
        if record.build is None:
            raise NotBuiltError(f"{record.failure}; the log is {record.log}")
        return record.build.model_copy(
            update={"home": self.builds.home(revision.target, record.key)}
        )

    def _made(self, revision: Revision, options: str, request: str) -> BuildRecord:
        supply = supply_of(revision)
        source = source_for(supply, self._cache)
        fetched = source.fetch(revision.locator or revision.version, self._cache / "downloads")
        patches = [patch for patch in self._patches if patch.applies(revision)]
        key = digest([fetched.sha256, *self._making(revision, options)])
        home = self.builds.home(revision.target, key)
        log = self.builds.log(revision.target, request)
        with self.builds.locked(revision.target, key):
            provenance = Provenance(
                source=source.name,
                locator=fetched.locator,
                sha256=fetched.sha256,
                options=options,
                commit=revision.locator if supply.kind == "git" else "",
            )
            described = home / ".build.json"
            if home.exists() and not described.exists():
                shutil.rmtree(home)  # An install that was cut short.
            if not home.exists():
                try:
                    build = (
                        install(revision, fetched, home, provenance)
                        if supply.prebuilt
                        else self._compile(revision, fetched, home, provenance, patches, log)
                    )
                except CompileError as error:
                    return BuildRecord(failure=str(error), log=str(log))
                finally:
                    if fetched.scratch:
                        fetched.path.unlink(missing_ok=True)
                described.write_text(build.model_dump_json(indent=1))
            else:
                build = Build.model_validate_json(described.read_bytes())
        # Equal content of another revision is the same binary under another name.
        named = build.provenance.model_copy(
            update={"locator": provenance.locator, "commit": provenance.commit}
        )
        build = build.model_copy(update={"version": revision.version, "provenance": named})
        return BuildRecord(key=key, build=build, log=str(log) if log.exists() else "")

    def _compile(
        self,
        revision: Revision,
        fetched: Fetched,
        home: Path,
        provenance: Provenance,
        patches: Sequence[Patch],
        log: Path,
    ) -> Build:
        target = find_target(revision.target)
        options = self._options[provenance.options]
        compiler, cxx = compiler_of(options)
        ccache = shutil.which("ccache")
        with self._slot() as slot:
            tree, made = slot / "tree", slot / "home"
            with unpacked(fetched.path, tree, source_members):
                pass
            written = newest_time(tree)
            made.mkdir(mode=0o755)
            work = Compilation(
                revision=revision,
                tree=tree,
                home=made,
                options=options,
                compiler=f"{ccache} {compiler}" if ccache else compiler,
                cxx=f"{ccache} {cxx}" if ccache else cxx,
                flags=flags_of(options),
                jobs=self._jobs,
            )
            for patch in patches:
                _apply(patch, tree)
            objects = self._cache / "ccache"
            if ccache:
                self._account.own(objects)
            self._account.give(slot)
            with log.open("wb") as said:
                run_recipe(
                    work, target.recipe(work), self._account, objects if ccache else None, said
                )
            _take(made)
            try:
                identity = target.identify(made)
            except UserError as error:
                # What was compiled and does not run is a fact of the revision, too.
                raise CompileError(str(error)) from error
            build = _described(
                revision,
                made,
                identity,
                written,
                provenance.model_copy(
                    update={
                        "compiler": toolchain(options),
                        "flags": work.flags,
                        "patches": tuple(_sha256(patch.text) for patch in patches),
                    }
                ),
            )
            home.parent.mkdir(parents=True, exist_ok=True)
            made.rename(home)
        return build

    @contextmanager
    def _slot(self) -> Iterator[Path]:
        """Give an empty folder to compile in, when one is free.

        It is the same one for every build as far as that can be, so that equal code gives
        equal programs: paths find their way into them.
        """
        slots = [self._cache / "compile" / str(number) for number in range(self.at_once)]
        slots[0].parent.mkdir(parents=True, exist_ok=True)
        self._account.check_reach(slots[0].parent)
        with ExitStack() as held:
            slot = next((each for each in slots if _try_lock(each, held)), None)
            if slot is None:
                slot = slots[0]
                held.enter_context(_lock_of(slot))
            if slot.exists():
                shutil.rmtree(slot)
            slot.mkdir()
            try:
                yield slot
            finally:
                shutil.rmtree(slot, ignore_errors=True)

    def _request(self, revision: Revision, options: str) -> str:
        """Return the name of what is asked for, which can be said before anything is fetched."""
        supply = supply_of(revision)
        if supply.prebuilt != (options == OFFICIAL):
            raise UserError(
                f"{revision.target} {revision.label} from {supply.name} "
                + (
                    f"is built already; its build options are {OFFICIAL!r}, not {options!r}"
                    if supply.prebuilt
                    else f"is source code; choose build options other than {OFFICIAL!r}: "
                    + ", ".join(self._options)
                )
            )
        identity = digest([supply.model_dump(), *self._making(revision, options)])
        return f"{revision.version}-{supply.name}-{options}-{identity[:10]}".replace("/", "-")

    def _making(self, revision: Revision, options: str) -> list[object]:
        """Return what else than the source's content makes a build what it is."""
        if options == OFFICIAL:
            return [OFFICIAL, _INSTALL]
        if options not in self._options:
            raise UserError(
                f"there are no build options {options!r}; {meant(options, self.known_options())}"
            )
        chosen = self._options[options]
        applied = [patch.text for patch in self._patches if patch.applies(revision)]
        return [chosen.model_dump(), toolchain(chosen), applied]


def _try_lock(slot: Path, held: ExitStack) -> bool:
    """Lock a slot until ``held`` ends, unless somebody has it."""
    try:
        held.enter_context(_lock_of(slot, fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


@contextmanager
def _lock_of(slot: Path, how: int = 0) -> Iterator[None]:
    with slot.with_suffix(".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | how)
        yield


def supply_of(revision: Revision) -> Supply:
    """Return where a revision is had from."""
    return revision.supply or find_target(revision.target).supplies[0]


def identical(builds: Sequence[Build]) -> list[list[Build]]:
    """Return the groups of builds of several revisions that are the same binary.

    Measured against each other they are controls: what differs between them is no difference.
    """
    groups: dict[tuple[str, str], dict[str, Build]] = {}
    for build in builds:
        groups.setdefault((build.target, build.hash), {}).setdefault(build.version, build)
    return [list(group.values()) for group in groups.values() if len(group) > 1]


def install(revision: Revision, fetched: Fetched, home: Path, provenance: Provenance) -> Build:
    """Unpack a prebuilt release into ``home``, which does not exist yet, and identify it.

    Raises UserError for an archive that is damaged or no release of its target.
    """
    target, supply = find_target(revision.target), supply_of(revision)
    with unpacked(fetched.path, home, lambda path: target.members(supply, path)) as folder:
        identity = target.identify(folder)
        build = _described(revision, folder, identity, time_of(identity.program), provenance)
    return build.model_copy(update={"home": home})


def _described(
    revision: Revision,
    home: Path,
    identity: Identity,
    written: datetime | None,
    provenance: Provenance,
) -> Build:
    """Return what is known of a build whose files are in ``home``.

    ``written`` is when its program or source code was, as the archive says; the program knows it
    better.
    """
    made = None if supply_of(revision).commits else identity.made or written
    return Build(
        target=revision.target,
        version=revision.version,
        options=provenance.options,
        hash=program_hash(home, identity.folders),
        provenance=provenance.model_copy(
            update={
                "reported_version": identity.version,
                "libraries": linked_libraries(identity.program),
                "made": made,
            }
        ),
        home=home,
    )


def _take(home: Path) -> None:
    """Make what an account has built ours, for everyone to read and run."""
    for place, folders, names in os.walk(home):
        for path in (Path(place), *(Path(place) / name for name in (*folders, *names))):
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _apply(patch: Patch, tree: Path) -> None:
    """Apply a patch to a source tree. Raises CompileError where it does not fit."""
    if shutil.which("patch") is None:
        raise UserError("patch is not installed; install the package patch")
    answer = subprocess.run(
        ["patch", "--strip=1", "--batch", "--fuzz=0", "--no-backup-if-mismatch", f"-d{tree}"],
        input=patch.text,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        said = answer.stdout.strip() or answer.stderr.strip()
        raise CompileError(f"the patch {patch.name} does not fit: {first_line(Exception(said))}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

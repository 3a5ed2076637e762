"""The build stage: install each revision once, from a prebuilt release or from source code."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from pipeline.files import lock
from pipeline.machine.account import Account
from pipeline.measure.cache import BuildCache, BuildRecord
from pipeline.measure.layouts import laid_out, split_layout
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
from pipeline.text.errors import UserError, did_you_mean, first_line

_LOG = logging.getLogger(__name__)


OFFICIAL = "official"
"""The name of the build options of official binaries, which their makers or packagers built."""

_INSTALL = 2
"""Version of the way in which prebuilt releases are installed. Version 2 keeps the file times of
the archive. Releases that an older version installed are installed again."""

SHIPPED_OPTIONS = {
    options.name: options
    for options in (
        BuildOptions(name="rel_o2nofp"),
        BuildOptions(name="rel_o2nofp_clang", compiler="clang"),
        BuildOptions(name="rel_o2nofp_clang_lto", compiler="clang", lto=True),
        BuildOptions(name="rel_o3native", flags="-O3 -march=native -fno-omit-frame-pointer"),
    )
}
"""The build options that need no [[build]] table: those of the published reports."""


def default_options(supply: Supply) -> str:
    """Return the build options that a supply of source code uses if none are chosen."""
    return OFFICIAL if supply.prebuilt else next(iter(SHIPPED_OPTIONS))


class Patch(Frozen):
    """A change to the source code of some revisions, for example for new compilers.

    ``text`` is the input of the program patch. It is applied to releases of ``target`` from the
    number ``since`` to the last one that begins with ``until``; empty means no bound.
    """

    target: str
    name: str
    text: str
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = ()

    def applies(self, revision: Revision) -> bool:
        """Return whether the patch is for this revision. Commits need a patch without bounds."""
        if revision.target != self.target:
            return False
        if revision.supply is not None and revision.supply.commits:
            return not (self.since or self.until)
        ends = revision.order[: len(self.until)]
        return revision.order >= self.since and (not self.until or ends <= self.until)


class NotBuiltError(Exception):
    """A revision has no build; the text says why in one line."""


class Builder:
    """Downloads or compiles builds, keeps them in the cache, and finds them there.

    ``account`` runs the compilers, ``options`` are the known build options by name. At most
    ``at_once`` compilations run in parallel, each with at most ``jobs`` commands (0: its share of
    the processors). The failure of a revision is remembered.
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
        """Return the build of a revision if it is installed here; None otherwise.

        A control uses the build of the revision that it copies.
        """
        record = self.builds.record(revision.target, self._request(revision, options))
        return record.build if record else None

    def log(self, revision: Revision, options: str) -> Path:
        """Return the path of the log of a revision's build."""
        return self.builds.log(revision.target, self._request(revision, options))

    def forget(self, revision: Revision, options: str) -> None:
        """Forget that a revision failed to build, so that the next request tries again."""
        self.builds.forget(revision.target, self._request(revision, options))

    def obtain(self, revision: Revision, options: str) -> Build:
        """Return the build of a revision; download or compile it if the cache does not have it.

        Raises NotBuiltError for a revision that does not build, now or at an earlier attempt, and
        UserError for a failure that the revision did not cause.
        """
        request = self._request(revision, options)
        record = self.builds.record(revision.target, request)
        if record is None:
            try:
                began = time.monotonic()
                record = self._made(revision, options, request)
                self.builds.keep(revision.target, request, record)
                _LOG.info(
                    "build failed" if record.build is None else "build finished",
                    extra={
                        "target": revision.target,
                        "version": revision.version,
                        "options": options,
                        "seconds": round(time.monotonic() - began, 3),
                        "failure": record.failure,
                    },
                )
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise UserError(no_room(self._cache)) from error
                raise
            self.builds.expire()
        if record.build is None:
            raise NotBuiltError(f"{record.failure}; the build log is {record.log}")
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
                shutil.rmtree(home)  # An interrupted installation.
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
        # Another revision of equal content is the same binary under another name.
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
        options = self._chosen(provenance.options)
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
                apply_patch(patch, tree)
            objects = self._cache / "ccache"
            if ccache:
                self._account.own(objects)
            self._account.give(slot)
            with log.open("wb") as output:
                run_recipe(
                    work, target.recipe(work), self._account, objects if ccache else None, output
                )
            _take(made)
            try:
                identity = target.identify(made)
            except UserError as error:
                # A compiled program that does not run is a result of the revision, too.
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
        """Wait until another build is allowed to run, and yield an empty folder to compile in.

        Builds use the same folder where possible, because paths end up in programs: equal code then
        gives equal programs.
        """
        slots = [self._cache / "compile" / str(number) for number in range(self.at_once)]
        slots[0].parent.mkdir(parents=True, exist_ok=True)
        self._account.check_reach(slots[0].parent)
        with ExitStack() as held:
            slot = next((each for each in slots if _try_lock(each, held)), None)
            if slot is None:
                slot = slots[0]
                held.enter_context(lock.held(_lock_of(slot)))
            if slot.exists():
                shutil.rmtree(slot)
            slot.mkdir()
            try:
                yield slot
            finally:
                shutil.rmtree(slot, ignore_errors=True)

    def _request(self, revision: Revision, options: str) -> str:
        """Return the key of a requested build, which is known before any download."""
        supply = supply_of(revision)
        if supply.prebuilt != (split_layout(options)[0] == OFFICIAL):
            raise UserError(
                f"{revision.target} {revision.label} from {supply.name} "
                + (
                    f"is prebuilt: its build options are {OFFICIAL!r}, not {options!r}"
                    if supply.prebuilt
                    else f"is source code: choose build options other than {OFFICIAL!r}: "
                    + ", ".join(self._options)
                )
            )
        identity = digest([supply.model_dump(), *self._making(revision, options)])
        return f"{revision.version}-{supply.name}-{options}-{identity[:10]}".replace("/", "-")

    def _making(self, revision: Revision, options: str) -> list[object]:
        """Return everything that a build depends on, besides its source code."""
        name, layout = split_layout(options)
        if name == OFFICIAL:
            return [OFFICIAL, _INSTALL, *([layout] if layout else [])]
        chosen = self._chosen(options)
        applied = [patch.text for patch in self._patches if patch.applies(revision)]
        return [chosen.model_dump(), toolchain(chosen), applied]

    def _chosen(self, options: str) -> BuildOptions:
        """Return build options by name, with their layout. Raises UserError for an unknown name."""
        name, layout = split_layout(options)
        if name not in self._options:
            raise UserError(
                f"there are no build options {options!r}; "
                f"{did_you_mean(options, self.known_options())}"
            )
        return laid_out(self._options[name], layout)


def _try_lock(slot: Path, held: ExitStack) -> bool:
    """Lock a folder to compile in; return False if another process uses it."""
    try:
        held.enter_context(lock.held(_lock_of(slot), patience=0))
    except lock.LockHeldError:
        return False
    return True


def _lock_of(slot: Path) -> Path:
    return slot.with_suffix(".lock")


def supply_of(revision: Revision) -> Supply:
    """Return the supply (the source as a target uses it) of a revision."""
    return revision.supply or find_target(revision.target).supplies[0]


def identical(builds: Sequence[Build]) -> list[list[Build]]:
    """Return the groups of revisions whose builds are the same binary.

    The revisions of a group are controls of each other: any difference between them is noise.
    """
    groups: dict[tuple[str, str], dict[str, Build]] = {}
    for build in builds:
        groups.setdefault((build.target, build.hash), {}).setdefault(build.version, build)
    return [list(group.values()) for group in groups.values() if len(group) > 1]


def install(revision: Revision, fetched: Fetched, home: Path, provenance: Provenance) -> Build:
    """Unpack a prebuilt release into the new folder ``home``, and identify its version.

    Raises UserError for a damaged archive and for one that is no release of its target.
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
    """Return the record of a build whose files are in the folder ``home``.

    ``written`` is the time of the build's program or source code in the archive. A time that the
    program itself reports takes precedence.
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
    """Change the owner of compiled files to this user, and let everyone read and run them."""
    for place, folders, names in os.walk(home):
        for path in (Path(place), *(Path(place) / name for name in (*folders, *names))):
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def apply_patch(patch: Patch, tree: Path, *, reverse: bool = False) -> None:
    """Apply a patch to source code, or undo it with ``reverse``.

    Raises CompileError if the patch does not fit.
    """
    if shutil.which("patch") is None:
        raise UserError("patch is not installed; install the package patch")
    answer = subprocess.run(
        [
            *("patch", "--strip=1", "--batch", "--fuzz=0", "--no-backup-if-mismatch"),
            # Without --forward, a patch that is applied already would be undone, and the reverse.
            *("--forward", *(["--reverse"] if reverse else [])),
            f"-d{tree}",
        ],
        input=patch.text,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        output = answer.stdout.strip() or answer.stderr.strip()
        raise CompileError(
            f"the patch {patch.name} does not apply: {first_line(Exception(output))}"
        )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

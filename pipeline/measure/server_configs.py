"""Find the configuration that a DBMS runs with: a published one, or one of ``nightshift.toml``."""

from __future__ import annotations

import sys
from pathlib import Path

from pipeline.config import ConfigFile, ServerConfigSection
from pipeline.machine.fingerprint import scale_name
from pipeline.measure.discover import version_bound
from pipeline.model import Machine, Revision, ServerConfig
from pipeline.targets import find_target
from pipeline.text.errors import UserError, did_you_mean, first_line


def with_memory(machine: Machine, memory: int | None) -> Machine:
    """Return the machine with its memory limited to what a workload may use."""
    if memory is None or memory >= machine.memory_bytes:
        return machine
    return machine.model_copy(update={"memory_bytes": memory})


def server_config(
    file: ConfigFile, name: str, revision: Revision, machine: Machine
) -> ServerConfig:
    """Return the configuration of this name for a revision, scaled to the machine.

    Raises UserError for an unknown name, for a version that the configuration is not for, and for a
    file that cannot be read.
    """
    section = own_config(file, name, revision)
    if section is None:
        return find_target(revision.target).config(name, revision, machine)
    texts, exceeds = [], 0
    if section.extends:
        extended = server_config(file, section.extends, revision, machine)
        texts, exceeds = [extended.text.rstrip("\n")], extended.exceeds
    if section.file is not None:
        texts.append(_read(file, section.file).rstrip("\n"))
    return ServerConfig(
        family=name,
        name=f"{name}_{scale_name(machine.cores, machine.memory_bytes)}",
        text="\n".join([*texts, *section.lines, ""]),
        exceeds=exceeds,
    )


def own_config(file: ConfigFile, name: str, revision: Revision) -> ServerConfigSection | None:
    """Return the [[config]] of this name that is for a revision; None for a published name.

    Raises UserError if no configuration of this name is for the revision.
    """
    own = [each for each in file.config.config if each.target == revision.target]
    named = [section for section in own if section.name == name]
    for section in named:
        if _is_for(section, revision):
            return section
    if named:
        raise UserError(
            f"no [[config]] {name} is for {revision.target} {revision.version}; add one, or change "
            "its since and until"
        )
    published = find_target(revision.target).configs()
    if own and name not in published:
        known = (*published, *dict.fromkeys(section.name for section in own))
        raise UserError(f"{revision.target} has no config {name!r}; {did_you_mean(name, known)}")
    return None


def check_configs(file: ConfigFile) -> None:
    """Refuse a [[config]] with an unknown DBMS, a published name, or a circle of ``extends``."""
    sections = file.config.config
    for index, section in enumerate(sections):
        try:
            target = find_target(section.target)
        except KeyError as error:
            raise file.problem(("config", index, "target"), error.args[0]) from error
        own = {each.name: each.extends for each in sections if each.target == section.target}
        if section.name in target.configs():
            raise file.problem(
                ("config", index, "name"),
                f"{section.name} is a published configuration of {section.target}; choose another "
                "name, so that equal names mean equal settings",
            )
        if section.extends and section.extends not in (*target.configs(), *own):
            raise file.problem(
                ("config", index, "extends"),
                f"{section.target} has no config {section.extends!r}; "
                f"{did_you_mean(section.extends, (*target.configs(), *own))}",
            )
        if section.file is not None:
            try:
                _read(file, section.file)
            except UserError as error:
                raise file.problem(("config", index, "file"), str(error)) from error
        chain = [section.name]
        while (following := own.get(chain[-1], "")) in own:
            if following in chain:
                raise file.problem(
                    ("config", index, "extends"),
                    f"{' extends '.join((*chain, following))}; remove one `extends` to break the "
                    "cycle",
                )
            chain.append(following)


def _is_for(section: ServerConfigSection, revision: Revision) -> bool:
    """Return whether a configuration's range of versions contains a revision."""
    numbers = revision.order
    if revision.supply is not None and revision.supply.commits:
        numbers = (*version_bound(revision.major, ()), sys.maxsize)
    since, until = version_bound(section.since, ()), version_bound(section.until, ())
    return numbers >= since and (not until or numbers[: len(until)] <= until)


def _read(file: ConfigFile, path: Path) -> str:
    try:
        return (file.path.parent / path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} cannot be read ({first_line(error)}); name a file beside {file.path.name}"
        ) from error

"""The settings for configurations of a DBMS that users write themselves."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

from pipeline.config.base import Name, Section, Version


class ServerConfigSection(Section):
    """A table ``[[config]]``: a user's DBMS configuration: a file, or changes to another one."""

    name: Name = Field(description="name of the configuration, which workloads and tables use")
    target: str = Field(description="the DBMS")
    extends: str = Field(default="", description="the configuration that this one changes")
    file: Path | None = Field(
        default=None,
        description="a configuration file of the DBMS, beside nightshift.toml; with extends, it is "
        "added to the end of the other",
    )
    lines: tuple[str, ...] = Field(
        default=(), description='lines to add to the end, for example ["sync_binlog = 1"]'
    )
    since: Version = Field(
        default="", description=("first version or major version that the configuration is for")
    )
    until: Version = Field(
        default="", description=("last version or major version that the configuration is for")
    )

    @model_validator(mode="after")
    def _has_text(self) -> ServerConfigSection:
        if self.file is None and not self.extends:
            raise ValueError("set either file, or extends together with lines")
        if self.extends == self.name:
            raise ValueError("a configuration cannot extend itself; name another one")
        if any("\n" in line for line in self.lines):
            raise ValueError(
                "an item of lines contains a line break; write each line as a separate item, or "
                "use file"
            )
        return self

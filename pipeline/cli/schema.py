"""The verb `schema`: print the JSON schema of nightshift.toml, for editors."""

from __future__ import annotations

import json

import typer

from pipeline.cli.app import app
from pipeline.config import json_schema


@app.command("schema")
def schema_verb() -> None:
    """Print the JSON schema of nightshift.toml, for editors.

    Example: nightshift schema > schema/nightshift.schema.json
    """
    typer.echo(json.dumps(json_schema(), indent=2))

"""The steps as SQL text have the statements of the Lua scripts."""

from __future__ import annotations

import re

import pytest

from pipeline.workloads.base.plans import read_plans
from pipeline.workloads.sysbench import catalogue, plain_sql
from tests.workloads.databases import Database
from tests.workloads.test_plans import explained

_KEY = re.compile(r"CAST\((?P<key>[^()]+) AS CHAR\(12\)\)|\(\$1[^)]*\) % \d+ \+ 1|\$1[ *+%\d]*")
PLANNED = ("SELECT", "INSERT", "UPDATE", "DELETE")


def shape(statement: str) -> str:
    """Return what a statement has in common with that of the Lua script."""
    keyed = _KEY.sub("?", statement)
    # The only constant keys are those of one row and of the hot ones.
    keyed = re.sub(r"id (=|IN \() ?\d+", lambda found: found[0].rstrip("0123456789") + "?", keyed)
    keyed = re.sub(r"\?(, ?(\?|\d+))+", "?", keyed)
    return re.sub(r"\d+", "#", keyed).strip().replace("?AND", "? AND").replace("?ORDER", "? ORDER")


@pytest.mark.parametrize("name", ["postgres", "sqlite"])
def test_every_step_has_the_statements_of_its_script(
    name: str, request: pytest.FixtureRequest
) -> None:
    database: Database = request.getfixturevalue(f"loaded_{name}")
    plans = read_plans(explained("sysbench", ("all",), database.connection))
    for step in catalogue.STEPS:
        sql = plain_sql.of_step(step, database.connection.driver, 1_000)
        written = {shape(text) for text in sql.event if text.startswith(PLANNED)}
        assert written == plans[step.name].keys(), step.name

"""What a connection of the scripts returns of statements and queries, on every kind of DBMS."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.workloads.base.sysbench import SHARED_SCRIPTS, connection_options
from tests.workloads.databases import Database
from tests.workloads.sysbench_runner import run_script

SCRIPT = """
package.path = "%s/?.lua;" .. package.path
local sql = require("sql")
sysbench.cmdline.options = sql.with_options {}
sysbench.cmdline.commands = { tell = { function()
   local connection = sql.connect()
   local function tell(statement)
      connection:query(statement)
      print("affected", connection:affected())
   end
   connection:query("CREATE TABLE told (id INTEGER, k INTEGER)")
   print("numbers", connection:numbers("SELECT min(id), 7, max(id) FROM told"))
   tell("INSERT INTO told VALUES (1, 10), (2, 20), (3, -30)")
   tell("DELETE FROM told WHERE id > 3")
   tell("UPDATE told SET k = k + 1 WHERE id < 3")
   local ints = { "int", "int", "int" }
   local insert = connection:prepare("INSERT INTO told VALUES (?, ?), (?, 5)", ints)
   for i = 1, 3 do
      insert.ints[i][0] = 3 + i
   end
   insert:execute()
   print("affected", connection:affected())
   print("numbers", connection:numbers("SELECT min(k), count(*), max(id) FROM told"))
   connection:query("DROP TABLE told")
   connection:close()
end } }
"""


def test_affected_rows_and_numbers_are_those_of_the_dbms(
    database: Database, tmp_path: Path
) -> None:
    script = tmp_path / "script.lua"
    script.write_text(SCRIPT % SHARED_SCRIPTS)
    done = run_script(script, *connection_options(database.connection), "tell")
    assert done.returncode == 0, done.stdout
    reported = re.findall(r"^(affected|numbers)\t(.*)$", done.stdout, re.MULTILINE)
    assert reported == [
        ("numbers", "nil\t7\tnil"),
        ("affected", "3"),
        ("affected", "0"),
        ("affected", "2"),
        ("affected", "2"),
        ("numbers", "-30\t5\t6"),
    ]

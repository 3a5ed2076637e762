"""The consistency conditions of TPC-C: each is broken on a real server, and seen."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.workloads.base.sysbench import SHARED_SCRIPTS, connection_options
from pipeline.workloads.tproc_c.family import STEP, TprocC
from pipeline.workloads.tproc_c.sysbench import SCRIPTS
from tests.workloads.sysbench_runner import run_script
from tests.workloads.tproc_c_shop import DELIVERED, Shop, workload

BREAKS = {
    "3.3.2.1": ("UPDATE warehouse SET w_ytd = w_ytd + {0} WHERE w_id = 2",),
    "3.3.2.2": (
        "UPDATE district SET d_next_o_id = d_next_o_id + {0} WHERE d_w_id = 2 AND d_id = 1",
    ),
    "3.3.2.4": (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + {0} WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 1",
    ),
    "3.3.2.6": (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + {0} WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 1",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - {0} WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 2",
    ),
    "3.3.2.8": (
        "UPDATE warehouse SET w_ytd = w_ytd + {0} WHERE w_id = 2",
        "UPDATE district SET d_ytd = d_ytd + {0} WHERE d_w_id = 2 AND d_id = 1",
    ),
    "3.3.2.9": (
        "UPDATE district SET d_ytd = d_ytd + {0} WHERE d_w_id = 2 AND d_id = 1",
        "UPDATE district SET d_ytd = d_ytd - {0} WHERE d_w_id = 2 AND d_id = 2",
    ),
    "3.3.2.10": (
        "UPDATE customer SET c_balance = c_balance + {0}"
        " WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1",
    ),
    "3.3.2.12": (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + {0}"
        " WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1",
    ),
}
"""What breaks each condition, and none before it, in a warehouse where nothing else happens."""

MENDED = {
    "3.3.2.3": (
        "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 55",
        "INSERT INTO new_order VALUES (2, 1, 55)",
    ),
    "3.3.2.5": (
        "UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 55",
        "UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 55",
    ),
    "3.3.2.7": (
        "UPDATE order_line SET ol_delivery_d = NULL"
        " WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
        "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP"
        " WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
    ),
    **{
        clause: (*(each.format(1) for each in breaks), *(each.format(-1) for each in breaks))
        for clause, breaks in BREAKS.items()
    },
}
"""The same with all the others: the first half breaks, the second fixes."""


@pytest.mark.parametrize("clause", sorted(MENDED))
def test_a_broken_condition_fails_the_step_by_its_name(shop: Shop, clause: str) -> None:
    statements = MENDED[clause]
    half = len(statements) // 2
    shop.do(*statements[:half])
    done = shop.one()
    shop.do(*statements[half:])
    assert done.returncode == 1
    assert f"FATAL: consistency condition {clause} of TPC-C" in done.stdout
    with pytest.raises(ValueError, match=rf"condition {clause} of TPC-C .* does not hold"):
        TprocC().parse(STEP, workload(), done.stdout)


CHECK_LOAD = """
package.path = "%s/?.lua;%s/?.lua;" .. package.path
local options = require("options")
sysbench.cmdline.options = options.DECLARED
sysbench.cmdline.commands = { check = { function()
   local connection = require("sql").connect()
   require("consistency").check_load(connection, %d)
end } }
"""


def test_the_twelfth_condition_holds_of_a_loaded_database(shop: Shop, tmp_path: Path) -> None:
    script = tmp_path / "check.lua"

    def check(delivered: int) -> subprocess.CompletedProcess[str]:
        script.write_text(CHECK_LOAD % (SCRIPTS, SHARED_SCRIPTS, delivered))
        return run_script(script, *connection_options(shop.connection), "check")

    assert check(DELIVERED).returncode == 0
    refused = check(DELIVERED + 1)
    assert refused.returncode == 1
    assert "condition 3.3.2.11 of TPC-C" in refused.stdout

"""Run tproc-c with HammerDB, if it is installed.

The scripts in ``tcl/`` run in HammerDB 4.0 and later. They use its MySQL driver for MariaDB, too.
HammerDB supports only whole minutes, so times are rounded up.
"""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import Final

from pipeline.model import Connection, StepOutput, Workload, digest
from pipeline.text.errors import UserError
from pipeline.workloads.base import Command, Load, Timing
from pipeline.workloads.base.sysbench import SLOWEST_LOAD
from pipeline.workloads.tproc_c.settings import settings

SCRIPTS: Final = Path(__file__).parent / "tcl"

_PROGRAM: Final = "hammerdbcli"

_PARTITIONED: Final = 200
"""The number of warehouses from which HammerDB recommends partitioned tables."""

_MEASURING: Final = "Rampup complete, Taking start"
_RESULT: Final = re.compile(
    r"TEST RESULT : System achieved "
    r"(?:(?P<nopm>\d+) NOPM from (?P<tpm>\d+) [\w ]+ TPM"
    # The format that its generic.xml selects.
    r"|(?P<tpm_first>\d+) [\w ]+ TPM at (?P<nopm_last>\d+) NOPM)"
)
_FAILED: Final = re.compile(r"Vuser (\d+):FINISHED FAILED")
_ERROR: Final = re.compile(r"^Error in Virtual User \d+: (.+)$", re.MULTILINE)
_VERSION: Final = re.compile(r"(?:set hdb_version \"|HammerDB CLI )(v[\d.]+)")


def identity() -> str:
    """Return a digest of our scripts for HammerDB."""
    return digest([path.read_text() for path in sorted(SCRIPTS.glob("*.tcl"))])[:12]


def command(
    action: Command, workload: Workload, connection: Connection, seed: int
) -> tuple[str, ...]:
    """Return the HammerDB command that loads the tables or runs the transactions.

    HammerDB finds its files relative to its working directory. Raises UserError if HammerDB is not
    installed.
    """
    # HammerDB seeds its random numbers from the clock.
    del seed
    found = _installed()
    if found is None:
        raise UserError(
            'driver = "hammerdb" needs HammerDB, which is not installed; install it from '
            f"hammerdb.com, and link its {_PROGRAM} into a folder of PATH"
        )
    scale, warehouses = workload.scale, settings(workload).warehouses
    values = {
        "DRIVER": connection.driver,
        "SOCKET": connection.socket_dir,
        "PORT": connection.port,
        "USER": connection.user,
        "DATABASE": connection.database,
    }
    if isinstance(action, Load):
        values |= {
            "WAREHOUSES": warehouses,
            "LOADERS": min(warehouses, scale.clients),
            "PARTITION": str(warehouses >= _PARTITIONED).lower(),
        }
        script = "load.tcl"
    else:
        values |= {
            "RAMPUP": _minutes(scale.warmup),
            "DURATION": _minutes(scale.measure),
            "USERS": scale.clients,
        }
        script = "run.tcl"
    environment = (f"NIGHTSHIFT_{name}={value}" for name, value in values.items())
    return (
        "env",
        f"--chdir={found.parent}",
        *environment,
        f"./{_PROGRAM}",
        "auto",
        str(SCRIPTS / script),
    )


def explain(workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
    """Return nothing, because the statements are inside HammerDB's stored procedures."""
    del workload, connection, seed
    return ()


def timing(action: Command, workload: Workload) -> Timing:
    """Return the measured time and the time limit of a HammerDB command."""
    if isinstance(action, Load):
        return Timing(measured=0.0, limit=settings(workload).rows / SLOWEST_LOAD)
    scale = workload.scale
    ramp_up, measured = 60.0 * _minutes(scale.warmup), 60.0 * _minutes(scale.measure)
    return Timing(measured=measured, limit=ramp_up + measured)


def started(line: str) -> bool:
    """Return whether a line of HammerDB's output says that measuring has begun."""
    return _MEASURING in line


def parse(text: str, workload: Workload) -> StepOutput:
    """Parse the output of HammerDB, which does not report response times.

    Raises ValueError, with an error message, if there is no result or a virtual user failed.
    """
    result, failed = _RESULT.search(text), _FAILED.search(text)
    if result is None or failed is not None:
        error = _ERROR.search(text)
        what = f"virtual user {failed[1]} failed" if failed else "it printed no result"
        raise ValueError(f"HammerDB failed: {error[1].strip() if error else what}")
    nopm = float(result["nopm"] or result["nopm_last"])
    tpm = float(result["tpm"] or result["tpm_first"])
    minutes = _minutes(workload.scale.measure)
    return StepOutput(
        operations=tpm * minutes, seconds=60.0 * minutes, figures={"nopm": nopm, "tpm": tpm}
    )


def version() -> dict[str, str]:
    """Return the version of HammerDB; empty if it is not installed."""
    found = _installed()
    if found is None:
        return {}
    found_version = _VERSION.search(found.read_text(encoding="utf-8", errors="replace"))
    return {"hammerdb": found_version[1] if found_version else "unknown"}


def _minutes(seconds: float) -> int:
    """Return seconds as whole minutes, rounded up."""
    return math.ceil(seconds / 60)


def _installed() -> Path | None:
    path = shutil.which(_PROGRAM)
    return Path(path).resolve() if path else None

"""The settings of tproc-c: the size of its tables, and the load generator."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.model import Frozen, OptionValue, Workload
from pipeline.workloads.base.options import Option, OptionError, checked, one_of, whole_number

SYSBENCH, HAMMERDB = "sysbench", "hammerdb"

DISTRICTS = 10
"""Districts of a warehouse, fixed by TPC-C."""

_LINES = 10
"""Lines of an order, on average."""


class TprocCSettings(Frozen):
    """The size of tproc-c's tables: warehouses, customers and items."""

    warehouses: int = 1
    customers: int = 3000
    items: int = 100_000
    driver: str = SYSBENCH

    @property
    def rows(self) -> int:
        """The approximate number of rows that the load inserts."""
        of_customer = 3 + _LINES
        warehouse = self.items + DISTRICTS * self.customers * of_customer
        return self.items + self.warehouses * warehouse


OPTIONS = (
    Option("warehouses", "number of warehouses", whole_number(1)),
    Option("customers", "customers per district, 3000 by default", whole_number(10)),
    Option("items", "number of items, 100000 by default", whole_number(100)),
    Option(
        "driver", "load generator: sysbench, or an installed hammerdb", one_of(SYSBENCH, HAMMERDB)
    ),
)


def read_options(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Return the settings of tproc-c with converted values.

    Raises OptionError for an invalid value, and for a size that HammerDB cannot load.
    """
    values = checked(options, OPTIONS)
    if values.get("driver") == HAMMERDB:
        for name in ("customers", "items"):
            if name in values:
                raise OptionError(
                    name,
                    (
                        f"HammerDB always loads the number of {name} that TPC-C prescribes; leave "
                        "this setting out"
                    ),
                )
    return values


def settings(workload: Workload) -> TprocCSettings:
    """Return all settings of a tproc-c workload, with defaults."""
    return TprocCSettings.model_validate(workload.options)

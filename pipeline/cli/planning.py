"""A configuration at work that plans: what is to be measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from pipeline.cli.context import Context
from pipeline.errors import UserError
from pipeline.execute.discover import Discovered, Offer, discovered
from pipeline.execute.lines import offers_of
from pipeline.execute.plan import Plan, check_workloads, make_plan
from pipeline.store.queries import measured_cells


class PlanningContext(Context):
    """What a verb needs that plans, without what measures and ingests."""

    def offers(self) -> list[Offer]:
        """What the lines ask for. Raises UserError for mistakes in the file, all checked."""
        if not self.config.line or not self.config.workload:
            raise UserError(
                f"{self.file.path} names no line or no workload, so there is nothing to measure; "
                "add a [[line]] and a [[workload]]"
            )
        check_workloads(self.file)
        return offers_of(self.file)

    def plan(
        self,
        found: Discovered | None = None,
        also: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> Plan:
        """What is to be measured, from what was discovered.

        ``also`` are labels of revisions that are measured besides the newest, by line.
        """
        self.offers()
        known = found if found is not None else discovered(self.results)
        measured = measured_cells(self.store)
        return make_plan(self.file, known, self.machines, self.quick, self.profile, measured, also)

"""A context that plans what a night measures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from pipeline.measure.discover import Discovered, Offer, discovered, offers_of
from pipeline.measure.plan import Plan, check_workloads, make_plan
from pipeline.storage.runs import measured_cells
from pipeline.text.errors import UserError
from pipeline.use_cases.context import Context


class PlanningContext(Context):
    """What a planning verb needs, without the parts that measure and ingest."""

    def offers(self) -> list[Offer]:
        """The targets and supplies of the lines. Raises UserError for a mistake in the file."""
        if not self.config.line or not self.config.workload:
            raise UserError(
                f"{self.file.path} has no [[line]] or no [[workload]], so there is nothing to "
                "measure; add both"
            )
        check_workloads(self.file)
        return offers_of(self.file)

    def plan(
        self,
        found: Discovered | None = None,
        also: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> Plan:
        """Return the plan of a night, from the discovered revisions.

        ``also`` are labels of revisions that are measured besides the newest, by line.
        """
        self.offers()
        known = found if found is not None else discovered(self.results)
        measured = measured_cells(self.store)
        return make_plan(self.file, known, self.machines, self.quick, self.profile, measured, also)

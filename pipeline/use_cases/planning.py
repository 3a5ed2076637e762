"""The context of commands that plan a night."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from types import MappingProxyType

from pipeline.measure.discover import FILE as DISCOVERED
from pipeline.measure.discover import Discovered, Offer, discovered, offers_of
from pipeline.measure.plan import Plan, check_workloads, make_plan
from pipeline.storage.imported_lines import imported_lines
from pipeline.storage.runs import measured_cells
from pipeline.text.errors import UserError
from pipeline.use_cases.context import Context

_LOG = logging.getLogger(__name__)


class PlanningContext(Context):
    """A configuration with what is needed to plan a night, but not to measure."""

    def offers(self) -> list[Offer]:
        """The targets and sources of all lines. Raises UserError if one is invalid."""
        if not self.config.line or not self.config.workload:
            raise UserError(
                f"{self.file.path} has no [[line]] or no [[workload]], so there is nothing to "
                "measure; add what is missing, or import results with `nightshift import`"
            )
        check_workloads(self.file)
        return offers_of(self.file)

    def plan(
        self,
        found: Discovered | None = None,
        also: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> Plan:
        """Return the plan of a night, including imported lines.

        ``found`` are the known revisions, by default those saved by the last discovery. ``also``
        has, by line, the labels of revisions to measure in addition to the newest. Raises UserError
        if there is neither a line to measure nor an imported one.
        """
        names = {section.name for section in self.config.line}
        imported = tuple(line for line in imported_lines(self.store) if line.name not in names)
        if imported and found is None and not self._discovered():
            return Plan(lines=imported, repetitions=self.config.night.repetitions)
        self.offers()
        known = found if found is not None else discovered(self.results)
        measured = measured_cells(self.store)
        plan = make_plan(self.file, known, self.machines, self.quick, self.profile, measured, also)
        return plan.model_copy(update={"lines": (*plan.lines, *imported)})

    def _discovered(self) -> bool:
        """Return whether the revisions of the configured lines are known."""
        if not self.config.line:
            return False
        known = (self.results / DISCOVERED).exists()
        if not known:
            _LOG.warning(
                f"the lines of {self.file.path} are left out, because {self.results} has no list "
                "of releases yet; run `nightshift discover`"
            )
        return known

"""The ingest stage: add new bundles to the store, or rebuild the store."""

from __future__ import annotations

from pipeline.measure.progress import Watcher, counting
from pipeline.storage.database import empty_store
from pipeline.storage.ingest import IngestReport
from pipeline.storage.journal import now
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext


@logged("ingest")
def ingest_all(context: MeasuringContext, watcher: Watcher) -> IngestReport:
    """Add to the store every bundle that it does not have yet."""
    paths = context.new_bundles()
    with counting(watcher, "ingest", len(paths)) as progress:
        return context.ingest(paths, progress)


@logged("rebuild")
def rebuild_store(context: MeasuringContext, watcher: Watcher) -> IngestReport:
    """Empty the store and fill it again from the bundles."""
    with context.workspace.held():
        empty_store(context.store)
        report = ingest_all(context, watcher)
        context.regressions.record_pending(now())
    return report

"""Pure functions that derive the figures of a run from its output and samples."""

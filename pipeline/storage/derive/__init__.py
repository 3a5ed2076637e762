"""Functions that compute the metrics of a run from its raw output and samples."""

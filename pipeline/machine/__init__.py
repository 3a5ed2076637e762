"""The machine that measures: what it is, whom servers run as, what is pinned where."""

"""From machine to machine: what was measured elsewhere, and what is needed to measure there."""

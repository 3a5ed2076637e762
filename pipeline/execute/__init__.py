"""From what there is to what was measured: discover, plan, build, run."""

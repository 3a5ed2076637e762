"""From measurements to conclusions: series, change points, regressions."""

"""Report to GitHub: regressions as issues, and results of pull requests."""

"""Regressions: their detection, their match with the journal, and their states."""

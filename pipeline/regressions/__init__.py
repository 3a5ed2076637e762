"""Regressions: how they are detected, matched with the journal, and given a state."""

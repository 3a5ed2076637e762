"""Noisy bisection: find the revision that changed the level, in as few builds as possible."""

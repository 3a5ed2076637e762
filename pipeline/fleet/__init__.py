"""Bench servers for a night: priced, created, monitored, and deleted when they expire."""

"""Simulate series with known changes, to measure false alarms and missed changes."""

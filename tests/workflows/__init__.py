"""Whole workflows, run by act."""

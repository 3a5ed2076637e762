"""Stateful fakes of what cannot run in a test."""

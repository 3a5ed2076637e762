"""Mutation testing of the core modules; docs/development.md explains it."""

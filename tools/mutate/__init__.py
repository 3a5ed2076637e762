"""Mutation testing of the core modules; docs/internals/development.md explains it."""

"""Rented bench servers: priced, created for a night, and deleted when they expire."""

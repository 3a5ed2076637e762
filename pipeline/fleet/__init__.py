"""Bench servers for a night: priced, made, watched, and deleted when their time has come."""

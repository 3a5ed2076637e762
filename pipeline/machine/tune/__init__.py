"""Tuning: set the kernel settings that measurements depend on, and restore them exactly."""

"""The kernel's settings that a measurement depends on: set for a while, and restored exactly."""

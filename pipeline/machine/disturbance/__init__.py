"""Disturbances: what else used or slowed the machine while a step was measured."""

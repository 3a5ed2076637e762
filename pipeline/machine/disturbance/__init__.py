"""Disturbances of a step: what else the machine did, or suffered, during the measurement."""

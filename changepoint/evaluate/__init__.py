"""Simulations with seeds that measure false alarms and recall of the detection."""

"""Transfer between machines: measurements to the hub, and the hub's state to benches."""

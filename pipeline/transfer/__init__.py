"""Transfer results from benches to the hub, and the hub's state to benches."""

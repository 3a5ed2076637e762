"""CPU profiles: stacks that were sampled, and their picture. Pure functions on text."""

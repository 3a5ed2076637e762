"""Explain why a step is slower: compare everything recorded on both sides of a change."""

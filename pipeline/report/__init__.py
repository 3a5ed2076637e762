"""Results as text for people: tables, comparisons and explanations."""

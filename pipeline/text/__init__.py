"""Text for people: errors, units and markdown, written and read."""

"""Text for people: errors, numbers with units, markdown."""

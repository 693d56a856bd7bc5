"""From stored cells to values: indices, reading, comparisons, previews, computed columns."""

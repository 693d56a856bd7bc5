"""Reading of views: indices, values, comparisons, and columns that are not stored."""

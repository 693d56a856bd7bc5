"""Lower expressions: operators, comparisons, subscripts and constants."""

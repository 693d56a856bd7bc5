"""Expressions: operators, comparisons, subscripts, constants, and their types."""

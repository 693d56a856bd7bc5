"""Splits of rows into parts, such as training and test sets."""

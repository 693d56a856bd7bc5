"""Splitting rows into parts, such as training and test sets."""

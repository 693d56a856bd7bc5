"""Parsing of queries to syntax trees, and the names and literals that queries may have."""

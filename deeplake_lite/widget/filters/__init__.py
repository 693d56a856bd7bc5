"""Facets: counts of rows by value or range, and the filters that users choose with them."""

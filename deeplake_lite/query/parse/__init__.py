"""Parse queries to syntax trees, and quote names and literals for queries."""

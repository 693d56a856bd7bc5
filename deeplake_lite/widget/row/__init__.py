"""A single row in detail, and its history."""

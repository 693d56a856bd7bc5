"""Rows as they are stored: read ahead of their batch, and held."""

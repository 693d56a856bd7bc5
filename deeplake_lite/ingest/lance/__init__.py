"""Ingesting datasets of Lance."""

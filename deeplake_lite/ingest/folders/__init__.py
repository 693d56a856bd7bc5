"""Ingesting folders of image files."""

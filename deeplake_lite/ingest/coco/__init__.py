"""Ingesting COCO files."""

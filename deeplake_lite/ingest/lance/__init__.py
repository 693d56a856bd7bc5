"""Ingesting Lance datasets."""

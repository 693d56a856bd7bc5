"""Ingesting YOLO datasets."""

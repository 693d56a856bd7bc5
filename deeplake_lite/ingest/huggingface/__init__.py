"""Ingesting datasets of Hugging Face: objects, folders and Parquet files."""

"""Ingesting Hugging Face datasets: objects, folders and Parquet files."""

"""Ingesting tables and arrays: CSV, Parquet, DataFrames, NumPy."""

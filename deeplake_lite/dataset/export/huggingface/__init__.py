"""Export for Hugging Face: datasets, and Parquet files as on the hub."""

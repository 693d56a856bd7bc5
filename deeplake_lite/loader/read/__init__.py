"""Code that reads rows before their batch needs them, and keeps rows in memory or on disk."""

"""Reports on a loader: its progress, its speed, and the quality of its shuffle."""

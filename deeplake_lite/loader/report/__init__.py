"""Reports on a loader: its progress, the time that it takes, and the quality of its shuffle."""

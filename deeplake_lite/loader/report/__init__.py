"""Reports on the progress and the speed of a loader, and on the quality of its shuffle."""

"""What users hold: datasets, views, columns and diffs of one lake."""

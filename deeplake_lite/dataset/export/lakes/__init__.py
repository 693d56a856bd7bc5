"""Export to other lake formats: Deep Lake and Lance."""

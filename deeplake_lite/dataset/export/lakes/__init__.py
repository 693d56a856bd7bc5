"""Export as datasets of other lakes: Deep Lake and Lance."""

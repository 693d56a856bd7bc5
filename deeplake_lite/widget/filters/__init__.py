"""What rows are counted by, and how a choice of it becomes a part of the query."""

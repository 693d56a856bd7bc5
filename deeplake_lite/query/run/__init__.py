"""Running a plan: sources, pruning, staging, SQL, and the clauses that follow it."""

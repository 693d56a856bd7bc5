"""Run a plan: read sources, prune and stage rows, run the SQL, and apply the last clauses."""

"""Run a plan.

A run has these steps: read the sources, filter rows before the SQL (called staging), run the SQL,
and apply the clauses that follow LIMIT.
"""

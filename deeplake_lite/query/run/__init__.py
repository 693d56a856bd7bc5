"""Run a plan.

The steps are: read the sources, filter rows before the SQL (staging), run the SQL, and apply the
clauses that follow LIMIT.
"""

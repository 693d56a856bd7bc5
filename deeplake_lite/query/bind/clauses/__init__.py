"""Lower the clauses of a query: SELECT, FROM, GROUP BY, UNION, ORDER BY and others."""

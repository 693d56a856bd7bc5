"""SELECT, FROM, GROUP BY, UNION and what ends a query."""

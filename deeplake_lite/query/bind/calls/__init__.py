"""Lowering of function calls: lookup by name, arguments, aggregates, windows and lambdas."""

"""Lower function calls: look up names, and handle arguments, aggregates, windows and lambdas."""

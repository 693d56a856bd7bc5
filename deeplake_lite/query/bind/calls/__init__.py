"""Functions by their names: which there are, what they take, aggregates and lambdas."""

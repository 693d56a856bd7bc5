"""Work in other processes: how errors come back, and executors of other libraries."""

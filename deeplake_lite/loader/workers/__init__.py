"""The threads and worker processes that make batches, and the schedule of an epoch."""

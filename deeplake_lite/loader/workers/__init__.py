"""Who makes batches, and when: threads and processes."""

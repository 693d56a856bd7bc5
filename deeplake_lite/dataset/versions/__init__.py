"""The history of a lake: versions, what differs between two, and how they are merged."""

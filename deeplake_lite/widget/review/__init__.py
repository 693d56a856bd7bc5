"""Ways to find rows to review: embedding maps, suspicious labels, and nearest neighbours."""

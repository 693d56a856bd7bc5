"""Finding rows to review: the map of an embedding, suspicious labels, and nearest neighbours."""

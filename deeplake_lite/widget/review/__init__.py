"""Rows worth a look: the map of an embedding, suspicious labels, and nearest neighbours."""

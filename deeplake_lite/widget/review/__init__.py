"""Where to look first: the map of an embedding, suspects, neighbours."""

"""How the grid shows rows: as images or cards with captions, and with marks drawn over images."""

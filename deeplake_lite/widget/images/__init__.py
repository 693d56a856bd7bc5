"""How rows look: images or cards with captions, and the marks drawn over images."""

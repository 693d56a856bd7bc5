"""How rows look: images and cards, their captions, and the marks drawn over images."""

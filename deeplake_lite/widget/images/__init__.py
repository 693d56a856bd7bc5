"""The appearance of rows: images and cards, their captions, and the marks drawn over them."""

"""Reading of stored rows ahead of their batch, and the memory that holds them."""

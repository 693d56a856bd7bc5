"""How rows look: pictures and cards, the words below and what is drawn over them."""

"""To Arrow and from it: types, cells, and the values of columns that are handed in."""

"""The order of rows in an epoch, and the division of rows into batches and ranks. No I/O.

A position is an index into a view. `Order.at` maps indices into the order of an epoch to positions.
"""

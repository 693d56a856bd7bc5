"""The order of rows in an epoch, and the division of rows into batches and ranks. No I/O.

A position is an index into a view. Given a range of the order of an epoch, `Order.at` returns the
positions of its rows.
"""

"""How many rows a block has."""

from deeplake_lite.loader.order.block_rows import rows_of_block


def test_block_size_is_bounded_in_bytes_and_a_power_of_two():
    assert [rows_of_block(b) for b in (1, 64, 5_000, 2**20, 2**30)] == [65536, 65536, 512, 4, 1]

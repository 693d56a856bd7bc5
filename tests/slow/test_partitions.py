"""Random conditions over lakes of all types, in every clause: 500 lakes."""

from tests.query.run.test_partitions import check_trial


def test_partitions_of_many_lakes_make_up_the_lakes(trials):
    for seed in range(1_000, 1_000 + trials(500)):
        check_trial(seed)

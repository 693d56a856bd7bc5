"""Commands suggested by error messages work when typed as shown."""

import pytest

from deeplake_lite.cli.app import for_the_shell


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("For example: older_than='30d'.", "For example: --older-than 30d."),
        ('Try spare="24h".', "Try --spare 24h."),
        ("with a longer spare=.", "with a longer --spare."),
        ("without older_than=, none", "without --older-than, none"),
        ("commit_every=1000", "--commit-every 1000"),
        ("Pass query(…, {'v': value}).", "Pass --param v=VALUE."),
    ],
)
def test_suggestions_use_the_options_of_the_command_line(python, shell):
    assert for_the_shell(python) == shell

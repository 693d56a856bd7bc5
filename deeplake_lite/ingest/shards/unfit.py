"""The error for bytes that cannot be decoded."""


class UnfitError(ValueError):
    """The error for bytes of a value that cannot be decoded.

    The message says what the bytes must be, such as "JSON".
    """

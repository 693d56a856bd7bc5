"""The error for bytes that are not a value."""


class UnfitError(ValueError):
    """Bytes of a sample that are not a value. The message says what they must be."""

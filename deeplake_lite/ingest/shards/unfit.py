"""The error for bytes that cannot be decoded."""


class UnfitError(ValueError):
    """Bytes of a sample that cannot be decoded. The message says what they must be: "JSON"."""

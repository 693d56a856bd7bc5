"""The error for bytes that cannot be decoded."""


class UnfitError(ValueError):
    """Raised if the bytes of a value cannot be decoded.

    The message is a noun for what the bytes must be, such as "JSON".
    """

"""The error for bytes that cannot be decoded."""


class UnfitError(ValueError):
    """Raised if the bytes of a value cannot be decoded.

    The message is a noun for the required content, such as "JSON".
    """

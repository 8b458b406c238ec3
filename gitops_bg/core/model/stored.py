"""How a field of a core dataclass is stored, where that is not by its name (``spec.codec``)."""

NOT_STORED = {"stored": False}
"""The metadata of a field that only people read, at the time it is made."""

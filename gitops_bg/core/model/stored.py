"""How a field of a core dataclass is stored, where that does not follow from its name: keys of its metadata.

Releases before and after read each other's records, so a stored name outlives the name in the code. Who stores
(``spec.codec``) reads these; nothing of the core does.
"""

STORED_AS = "stored as"
"""The name that its key is made from."""

INLINED = "inlined"
"""Of a field that is a dataclass: its fields are stored beside those of what it is in. Where it may be None, the value
is the name of one more, which says whether it is there; else it is empty."""

NOT_STORED = {"stored": False}
"""The metadata of a field that only people read, when it is made."""

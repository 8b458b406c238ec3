"""How a field of a core dataclass is stored, where its name does not tell: keys of its metadata.

Releases before and after read each other's records, so a stored name outlives the name in the code. ``spec.codec``
reads these keys; nothing in the core does.
"""

STORED_AS = "stored as"
"""The name that the stored key is made from."""

INLINED = "inlined"
"""Of a field that is a dataclass: its fields are stored beside those of its parent.

Where the field may be None, the value names one more field, which says whether it is set; otherwise the value is empty.
"""

NOT_STORED = {"stored": False}
"""The metadata of a field that only people read, at the time it is made."""

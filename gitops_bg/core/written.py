"""How a type of the configuration is declared: a frozen dataclass of the core, whose fields have their bounds in
`Annotated`, and below them the description that users read. `gitops_bg.spec.declared` reads files into it, and the
pages, the JSON Schemas and the CustomResourceDefinitions are made from it.

Knows no file and no library that reads one: pydantic asks `Matching` by two methods of its protocol.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Interval, MinLen

from gitops_bg.core.dataclass import dataclass


class Conflict(ValueError):
    """A value that contradicts the rest of what is written. ``field`` is the dotted path of what is wrong, below the
    type that raises it; empty: the whole of it.
    """

    def __init__(self, field: str, message: str, remedy: str) -> None:
        """Raise it from ``check`` of a type; it becomes a problem with file and line."""
        super().__init__(message)
        self.field = field
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Matching:
    """A text that fits a pattern as a whole, as schemas say with ^ and $."""

    pattern: str
    remedy: str

    def checked(self, text: str) -> str:
        """Return the text; raise `Conflict` where it does not fit."""
        if not re.fullmatch(self.pattern, text):
            raise Conflict("", f"{text!r} is not allowed", self.remedy)
        return text

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Mapping[str, Any]:
        """Check the text where files are read."""
        function = {"type": "no-info", "function": self.checked}
        return {"type": "function-after", "function": function, "schema": handler(source)}

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Mapping[str, Any]:
        """Say the pattern in the schemas that API servers and editors read."""
        return {**handler(schema), "pattern": f"^{self.pattern}$"}


@dataclass(frozen=True, slots=True)
class WrittenAs:
    """How files call a field, where that is not its name in camelCase."""

    name: str


NOT_WRITTEN = WrittenAs("")
"""The field is not of the file: the agent adds it."""

LARGEST = 2**31 - 1
DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
SERVICE_NAME = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
DIGEST = r"[a-z0-9]+:[0-9a-f]{10,}"
_DNS_NAME = "use a DNS name: at most 63 small letters, digits and -"

Text = Annotated[str, MinLen(1)]
Count = Annotated[int, Interval(ge=0, le=LARGEST)]
Positive = Annotated[int, Interval(ge=1, le=LARGEST)]
DnsLabel = Annotated[str, Matching(DNS_LABEL, _DNS_NAME)]
ServiceName = Annotated[str, Matching(SERVICE_NAME, _DNS_NAME)]
Digest = Annotated[str, Matching(DIGEST, "use a full digest")]
Glob = Annotated[str, Matching(r"([^ \[\]]|\[[^ \]]+\])+", "use names with *, ? and [abc], such as pay-*")]
Labels = tuple[tuple[str, str], ...]
"""A mapping of texts, as pairs in the order of their keys."""
Delay = Annotated[int | None, "or never"]
"""Seconds; None is written never."""

"""What shapes are made of: closed objects, and what the codec makes of the core's dataclasses."""

from typing import Any

from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from gitops_bg.spec.codec import encoded_schema

CLOSED = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""Of a TypedDict: it has no further keys, and the text below a key describes it."""


class Encoded:
    """Annotates what `codec.to_json` makes of a dataclass, with ``more`` keys beside it, and, where something has a
    ``meaning`` of another dataclass, the keys of that.
    """

    def __init__(self, kind: type, meaning: type | None = None, /, **more: Any) -> None:
        self._kind = kind
        self._meaning = meaning
        self._more = more

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """What pydantic asks of an annotation: the keys beside those of the dataclass."""
        fields = {
            name: core_schema.typed_dict_field(handler.generate_schema(kind), required=True)
            for name, kind in self._more.items()
        }
        return core_schema.typed_dict_schema(fields, metadata={"pydantic_js_functions": [self._json_schema]})

    def _json_schema(self, beside: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        more, own = handler(beside), encoded_schema(self._kind)
        meaning = encoded_schema(self._meaning)["properties"] if self._meaning else {}
        required = dict.fromkeys([*own["required"], *more.get("required", ())])
        return {
            **own,
            "properties": {**own["properties"], **meaning, **more.get("properties", {})},
            "required": list(required),
        }

"""The common parts of providers: reading their block, its HTTP settings, and numbers that may be missing."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from gitops_bg.outbound.http import MeasuringFailed, Trust
from gitops_bg.spec.analysis.providers import Header, Http
from gitops_bg.spec.app.fields import Model

_KINDS = {bool: "true or false", type(None): "null", dict: "an object", list: "a list"}
Block = TypeVar("Block", bound=Model)


def read(model: type[Block], block: Mapping[str, Any]) -> Block:
    """Validate the block. It may contain secrets by now, so errors show no values."""
    try:
        return model.model_validate(block)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)
        said = "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)
    raise MeasuringFailed(f"the filled-in block cannot be used: {said}")


def trust(block: Http) -> Trust:
    """Return the certificates that a block trusts."""
    return Trust(block.ca_cert or "", block.insecure)


def headers(listed: Sequence[Header]) -> dict[str, str]:
    """Return the headers of a block."""
    return {header.title: header.value for header in listed}


def number(text: Any) -> float:
    """Parse a number of a backend: JSON's, or a text such as ``0.5`` or ``NaN``. Raises ``MeasuringFailed``."""
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        raise MeasuringFailed(f"the backend gave {_KINDS.get(type(text), 'something')} where a number belongs")
    try:
        return float(text)
    except ValueError as error:
        raise MeasuringFailed("the backend gave a text where a number belongs", str(text)) from error


def present(values: Sequence[Any]) -> list[float]:
    """Return the numbers of a series without its gaps: null and NaN are no data."""
    numbers = [number(value) for value in values if value is not None]
    return [value for value in numbers if not math.isnan(value)]


def at(data: Any, *path: str | int) -> Any:
    """Return a part of a backend's response. Raises ``MeasuringFailed`` where it is missing."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError) as error:
            raise MeasuringFailed(f"the backend's answer has no {'.'.join(map(str, path))}") from error
    return data


def rows(data: Any, *path: str | int) -> list[Any]:
    """Return a list in a backend's response. Raises ``MeasuringFailed`` where there is none."""
    found = at(data, *path)
    if not isinstance(found, list):
        raise MeasuringFailed(f"the backend's answer has no list {'.'.join(map(str, path))}")
    return found

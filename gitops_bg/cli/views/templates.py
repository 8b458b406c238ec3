"""What a script takes out of `-o json`, in kubectl's ways: names, a JSONPath template, columns of its own.

Each is about exactly what `-o json` prints: of one thing the thing itself, of a list an object with `items`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.cli.errors import UsageError

NAME, JSONPATH, COLUMNS = "name", "jsonpath=", "custom-columns="
FORMS = "name, jsonpath=TEMPLATE or custom-columns=TITLE:PATH,…"

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"\{\s*range\s([^{}]+)\}(.*?)\{ *end *\}", re.DOTALL)
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}


def is_template(text: str) -> bool:
    """Return whether an output format is one of these."""
    return text == NAME or text.startswith((JSONPATH, COLUMNS))


def rendered(template: str, value: Mapping[str, Any]) -> str:
    r"""Return what a template takes out of a value. Raises `UsageError` where it cannot be read.

    >>> web = {"namespace": "shop", "name": "web", "phase": "Healthy"}
    >>> rendered("name", {"items": [web]}), rendered("jsonpath={.phase}", web)
    ('shop/web\n', 'Healthy')
    >>> rendered(r'jsonpath={range .items[*]}{.name}{"\n"}{end}', {"items": [web, web]})
    'web\nweb\n'
    >>> print(rendered("custom-columns=APP:.name,WHY:.message", {"items": [web]}), end="")
    APP  WHY
    web  <none>
    """
    if template == NAME:
        return "".join(f"{each['namespace']}/{each['name']}\n" for each in items_of(value))
    if template.startswith(JSONPATH):
        return _filled(template.removeprefix(JSONPATH), value)
    return _table(template.removeprefix(COLUMNS), value)


def items_of(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the things of a list; of one thing, that one."""
    found = value.get("items")
    return found if isinstance(found, list) else [value]


def _filled(template: str, value: Any) -> str:
    parts, end = [], 0
    for each in _RANGE.finditer(template):
        parts.append(_plain(template[end : each.start()], value))
        parts += [_plain(each[2], item) for item in _found(each[1].strip(), value)]
        end = each.end()
    return "".join((*parts, _plain(template[end:], value)))


def _plain(template: str, value: Any) -> str:
    return _BRACES.sub(lambda found: _text_of(found[1].strip(), value), template)


def _text_of(expression: str, value: Any) -> str:
    if expression[:1] == expression[-1:] == '"' and len(expression) > 1:
        return re.sub(r'\\[nt"\\]', lambda found: _ESCAPES[found[0]], expression[1:-1])
    return " ".join(map(_shown, _found(expression, value)))


def _table(columns: str, value: Mapping[str, Any]) -> str:
    pairs = [each.partition(":") for each in columns.split(",")]
    if not all(title and path for title, _, path in pairs):
        raise UsageError(f"{COLUMNS}{columns}: each column is TITLE:PATH, such as APP:.name")
    rows = [[title for title, _, _ in pairs]]
    for item in items_of(value):
        rows.append([",".join(map(_shown, _found(path, item))) or "<none>" for _, _, path in pairs])
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)


def _found(path: str, value: Any) -> Iterator[Any]:
    from gitops_bg.spec.expressions import json_path

    try:
        yield from json_path(path).findall(value)
    except ValueError as error:
        raise UsageError(f"{path} is no JSONPath such as .items[*].name: {error}") from error


def _shown(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

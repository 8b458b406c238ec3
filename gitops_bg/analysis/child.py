"""The child of `bounded`: a line of JSON for each condition, a line for each answer. It ends with its parent."""

import json
import resource
import sys

from gitops_bg.core.foreign_json import reread_json
from gitops_bg.spec.analysis.expressions import BadExpression, NoAnswer, NoValue, is_true


def main() -> None:
    """Answer until nobody asks any more."""
    is_true("true", {})  # the library is loaded before its memory is limited
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _print_line("ready")
    for line in sys.stdin:
        _print_line(json.dumps(_answer(line)))


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _answer(line: str) -> dict[str, object]:
    asked = reread_json(line)
    try:
        return {"is": is_true(asked["text"], asked["values"])}
    except NoValue as missing:
        return {"missing": str(missing)}
    except (NoAnswer, BadExpression) as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()

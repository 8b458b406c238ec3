"""A function is called by what it does in the field's words (DESIGN §2), and not by a word that fits everything."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "gitops_bg"
SAYS_NOTHING = "said", "told", "heard", "note", "look", "take", "beside"
_NAMED_SO = re.compile(rf"^\s*(?:async )?def _*({'|'.join(SAYS_NOTHING)})\(", re.MULTILINE)


def test_no_function_is_called_by_a_word_that_says_nothing() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    found = [f"{path.relative_to(PACKAGE)}: {name}" for path, text in texts.items() for name in _NAMED_SO.findall(text)]
    assert len(texts) > 100
    assert not found


def test_such_a_name_is_found() -> None:
    assert _NAMED_SO.findall("class A:\n    async def _take(self): ...\n    def taken(self): ...\n") == ["take"]

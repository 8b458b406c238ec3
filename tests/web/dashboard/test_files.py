"""The files that browsers get: those of others are as they were published, and ours evaluate nothing."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import gitops_bg.web.dashboard
from gitops_bg.web.dashboard.app import SCRIPTS

HOME = Path(gitops_bg.web.dashboard.__file__).parent
STATIC, TEMPLATES = HOME / "static", sorted((HOME / "templates").glob("*.html"))
ROWS = re.findall(r"^\| (\S+\.js) \|.*\| ([0-9a-f]{64}) \|$", (STATIC / "VENDORED.md").read_text(), re.MULTILINE)


def test_the_files_of_others_are_as_they_were_published() -> None:
    assert {name for name, _ in ROWS} == {each for each in SCRIPTS if each != "dashboard.js"}
    assert {name: hashlib.sha256((STATIC / name).read_bytes()).hexdigest() for name, _ in ROWS} == dict(ROWS)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.stem)
def test_no_template_has_code_or_style_or_text_that_is_not_escaped(template: Path) -> None:
    """`safe` is for what `drawing` made, which escapes by itself."""
    text = template.read_text()
    assert re.findall(r"hx-on|\bjs:|javascript:|\son\w+=|\sstyle=|<style|autoescape", text) == []
    trusted = {"page.picture | safe", "one | bars | safe", "each.spans | calendar(now) | safe"}
    assert {each.strip() for each in re.findall(r"\{\{([^}]*safe[^}]*)\}\}", text)} <= trusted
    assert len(re.findall(r"<script", text)) == (template.stem == "base")


def test_our_own_script_evaluates_nothing() -> None:
    text = (STATIC / "dashboard.js").read_text()
    assert re.findall(r"\beval\b|innerHTML|Function\(|document\.write|outerHTML|insertAdjacent", text) == []


def test_what_browsers_get_is_small() -> None:
    sizes = {each.name: each.stat().st_size for each in HOME.rglob("*") if each.is_file() and each.suffix != ".pyc"}
    assert sum(sizes.values()) < 300_000

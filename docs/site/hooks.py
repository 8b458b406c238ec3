"""What mkdocs does with a page beyond Markdown: links to files outside docs/ lead to the repository, or are their text.
On a forge such links work as they are; a site has no such files.

With a version, each release has a folder of its own, beside those that are there: the theme shows them to choose from,
and the site begins with the newest.
"""

import json
import os
import posixpath
import re
from pathlib import Path
from typing import Any

VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-(\w+)\.(\d+))?", re.ASCII)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((\.\.?/[^)\s]*)\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: object) -> str:
    """Lead links out of docs/ to the repository: mkdocs calls it for each page, before Markdown is read."""
    repository = config.extra["repository"]
    folder = posixpath.dirname(page.file.src_uri)

    def there(match: re.Match[str]) -> str:
        text, target = match[1], posixpath.normpath(posixpath.join("docs", folder, match[2]))
        if target.startswith("docs/"):
            return match[0]
        return f"[{text}]({repository}/{target})" if repository else text

    return LINK.sub(there, markdown)


def on_config(config: Any) -> Any:
    """Name the version that is built: mkdocs calls it before. Raises ``ValueError`` for what is no version."""
    version = os.environ.get("SITE_VERSION", "")
    if version:
        if not VERSION.fullmatch(version):
            raise ValueError(f"SITE_VERSION={version} is no version: write it as 0.1.0 or 0.1.0-rc.1")
        config.site_dir = str(Path(config.site_dir) / version)
        config.extra["version"] = {"provider": "mike", "default": "latest"}  # a list in the form of mike, without it
    return config


def on_post_build(config: Any) -> None:
    """List the versions, and begin with the newest: mkdocs calls it when all pages are there."""
    if "version" not in config.extra:
        return
    site = Path(config.site_dir).parent
    found = sorted((each.name for each in site.iterdir() if VERSION.fullmatch(each.name)), key=_order, reverse=True)
    newest = next((each for each in found if "-" not in each), found[0])
    listed = [{"version": each, "title": each, "aliases": ["latest"] * (each == newest)} for each in found]
    (site / "versions.json").write_text(json.dumps(listed, indent=2) + "\n")
    (site / "index.html").write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={newest}/index.html"><title>gitops-bg</title>\n'
    )


def _order(version: str) -> tuple[int, int, int, bool, str, int]:
    """Return what versions are sorted by: a release comes after its candidates."""
    match = VERSION.fullmatch(version)
    assert match is not None
    major, minor, patch, kind, number = match.groups()
    return int(major), int(minor), int(patch), kind is None, kind or "", int(number or 0)

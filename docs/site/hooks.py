"""What mkdocs does with a page beyond Markdown: links to files outside docs/ lead to the repository, or are their text.

On a forge such links work as they are; a site has no such files.
"""

import posixpath
import re
from typing import Any

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((\.\.?/[^)\s]*)\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: object) -> str:
    """Called by mkdocs for each page, before Markdown is read."""
    repository = config.extra["repository"]
    folder = posixpath.dirname(page.file.src_uri)

    def there(match: re.Match[str]) -> str:
        text, target = match[1], posixpath.normpath(posixpath.join("docs", folder, match[2]))
        if target.startswith("docs/"):
            return match[0]
        return f"[{text}]({repository}/{target})" if repository else text

    return LINK.sub(there, markdown)

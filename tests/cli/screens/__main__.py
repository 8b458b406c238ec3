"""`python -m tests.cli.screens`: writes every picture anew."""

from __future__ import annotations

from tests.cli.screens import PAGES, SCREENS, file_of, picture

if __name__ == "__main__":
    for name in (*SCREENS, *PAGES):
        file_of(name).write_text(picture(name), encoding="utf-8")

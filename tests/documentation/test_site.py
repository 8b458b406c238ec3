"""The documentation is a site: every page can be reached, no link is dead, and a reader's browser asks nobody else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MKDOCS = Path(sys.executable).with_name("mkdocs")
FETCHED = re.compile(
    r"""<(?:script|link|img|iframe|source|object)\b[^>]*?\b(?:src|href|data)=["']?((?:https?:)?//[^"'\s>]+)"""
)
IMPORTED = re.compile(r"""(?:url\(|@import )["']?(?:https?:)?//""")
DECISIONS = sorted((DOCS / "decisions").glob("0*.md"))
LISTED = re.findall(
    r"^\| \[(\d+)\. (.+)\]\((\S+)\) \|([\d, ]*)\|$", (DOCS / "decisions/README.md").read_text(), re.MULTILINE
)
"""Number, title, file and former numbers of each row of the list."""
FORMER = {int(number): [int(each) for each in former.split(",") if each.strip()] for number, _, _, former in LISTED}


def build(docs: Path, to: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(MKDOCS), "build", "--strict", "--config-file", str(docs / "site/mkdocs.yml"), "--site-dir", str(to)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(to.parent), "NO_MKDOCS_2_WARNING": "1", **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly."""
    folder = tmp_path_factory.mktemp("site") / "built"
    built = build(DOCS, folder)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")} - {Path("404")}
    assert built == {path.with_name("index") if path.name == "README" else path for path in pages}


def test_every_decision_is_in_their_list_once_under_its_title() -> None:
    """They alone are not in the navigation."""
    titles = {page.name: page.read_text().splitlines()[0].removeprefix("# ") for page in DECISIONS}
    assert {file: f"{number}. {title}" for number, title, file, _ in LISTED} == titles
    assert len(LISTED) == len(DECISIONS)


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_a_decision_has_the_number_of_its_file_and_its_history(page: Path) -> None:
    number = int(page.name[:4])
    title, _, rest = page.read_text().partition("\n")
    assert title.startswith(f"# {number}. ")
    history = rest.partition("\n## History\n")[2]
    told = {int(each) for each in re.findall(r"^- (\d+) \(\d+ \w+\):", history, re.MULTILINE)}
    assert told == {number, *FORMER[number]}


def test_each_number_of_a_decision_leads_to_one_page() -> None:
    given = list(chain(FORMER, *FORMER.values()))
    assert sorted(set(given)) == sorted(given)


def test_no_page_fetches_anything_from_anybody(site: Path) -> None:
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    assert not {(path.name, url) for path, page in pages.items() for url in FETCHED.findall(page)}
    assert not [path.name for path, page in pages.items() if 'class="mermaid"' in page], "the theme fetches mermaid"
    assert not [path.name for path in site.rglob("*.css") if IMPORTED.search(path.read_text())]


def test_search_finds_in_an_index_of_the_site_itself(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"] if "scaleDownDelaySeconds" in entry["text"]}
    assert "how-to/warm-pods.html" in found


@pytest.mark.slow
def test_links_out_of_docs_lead_to_the_repository_where_its_address_is_known(site: Path, tmp_path: Path) -> None:
    there = "https://git.example.com/tools/gitops-bg/blob/main"
    built = build(DOCS, tmp_path / "built", SITE_REPOSITORY_URL=there)
    assert built.returncode == 0, built.stderr
    events = "reference/events.html"
    assert f'href="{there}/gitops_bg/core/model/events.py"' in (tmp_path / "built" / events).read_text()
    assert "gitops_bg/core/model/events.py" not in (site / events).read_text()


def test_who_copies_a_console_gets_the_commands_without_prompt_and_output(site: Path) -> None:
    """No browser runs here: the theme marks a block while it copies its text, and our style hides the rest then."""
    page = (site / "start/first-app.html").read_text()
    assert '<link rel="stylesheet" href="../console.css">' in page
    assert '<span class="gp">$ </span>' in page
    assert '<span class="go">' in page
    style = (site / "console.css").read_text()
    assert re.search(r"\[data-md-copying\] :is\([^)]*\.gp, \.go[^)]*\) \{\s*display: none;", style)
    scripts = [path.read_text() for path in (site / "assets/javascripts").glob("bundle.*.js")]
    assert ["data-md-copying" in script for script in scripts] == [True], "the theme marks blocks in another way"


@pytest.mark.slow
def test_each_release_has_its_folder_and_the_site_begins_with_the_newest_that_is_no_candidate(tmp_path: Path) -> None:
    for former in ("0.9.0", "0.11.0-rc.1"):
        (tmp_path / "site" / former).mkdir(parents=True)
    built = build(DOCS, tmp_path / "site", SITE_VERSION="0.10.0")
    assert built.returncode == 0, built.stderr
    listed = json.loads((tmp_path / "site/versions.json").read_text())
    assert [(each["version"], each["aliases"]) for each in listed] == [
        ("0.11.0-rc.1", []),
        ("0.10.0", ["latest"]),
        ("0.9.0", []),
    ]
    assert "url=0.10.0/index.html" in (tmp_path / "site/index.html").read_text()
    assert '"version": {"default": "latest", "provider": "mike"}' in (tmp_path / "site/0.10.0/index.html").read_text()
    refused = build(DOCS, tmp_path / "other", SITE_VERSION="next")
    assert (refused.returncode, "SITE_VERSION=next is no version" in refused.stderr) == (1, True)


MISTAKES = {
    "how-to/new.md": ("# New", "how-to/new.md"),
    "faq.md": ("[gone](start/gone.md)", "start/gone.md"),
    "start/install.md": ("[gone](first-app.md#gone)", "does not contain an anchor '#gone'"),
}
"""A page that is not in the navigation, a dead link, a dead anchor: what is added to which file, and what is said."""


@pytest.mark.slow
def test_each_mistake_fails_the_build(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    for file, (text, _) in MISTAKES.items():
        with (tmp_path / "docs" / file).open("a") as page:
            page.write(f"\n{text}\n")
    built = build(tmp_path / "docs", tmp_path / "built")
    assert built.returncode == 1
    assert [said for _, said in MISTAKES.values() if said not in built.stderr] == []
    assert built.stderr.count("WARNING") == len(MISTAKES), "each of them alone is one too many"

"""Every citation in code, tests and docs leads to a heading, every link to a file; and the checker can fail."""

import doctest
import re
from pathlib import Path

import pytest

from tests.documentation import citations
from tests.documentation.citations import ARCHITECTURE, FORMS, PEERS, Library, dead_links, read, unresolved

ROOT = Path(__file__).parents[2]
REPOSITORY = read(ROOT)
PAGES = tuple(path for path in REPOSITORY.texts if path.endswith(".md"))


def test_every_citation_leads_to_a_heading():
    lost = [str(each) for path in REPOSITORY.texts for each in unresolved(REPOSITORY, path)]
    assert not lost, "\n".join(lost)


def test_every_link_leads_to_a_file_and_its_heading():
    dead = [str(each) for page in PAGES for each in dead_links(REPOSITORY, page, lambda path: (ROOT / path).exists())]
    assert not dead, "\n".join(dead)


def test_every_page_that_a_text_names_is_there():
    named = {
        (path, page)
        for path, text in REPOSITORY.texts.items()
        if not path.startswith(PEERS)
        for page in re.findall(r"(?<![\w/.-])docs/[\w/-]+\.md", text)
    }
    assert len(named) > 50
    assert not [(path, page) for path, page in named if not (ROOT / page).is_file()]


def test_there_are_citations_of_each_form():
    everything = "\n".join(REPOSITORY.texts.values())
    assert all(form.pattern.search(everything) for form in FORMS[:-1])
    assert len(FORMS[0].pattern.findall(everything)) > 100


def test_each_number_of_the_design_is_given_once():
    assert not {number: files for number, files in REPOSITORY.design.items() if " and " in files}


@pytest.mark.parametrize("path", [path for path in PAGES if path.startswith(PEERS)])
def test_each_number_of_a_peer_is_given_once(path: str):
    numbers = REPOSITORY.headings(path)
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("path", [path for path in PAGES if path.startswith(PEERS) and not path.endswith("README.md")])
def test_a_page_about_a_peer_is_there_only_for_rules_that_cite_it(path: str):
    others = [text for other, text in REPOSITORY.texts.items() if not other.startswith(PEERS)]
    name = path.removeprefix(f"{PEERS}/")
    assert [text for text in others if re.search(rf"\b{name} §|peers/{name}\)", text)]


@pytest.mark.parametrize("folder", [ARCHITECTURE, PEERS])
def test_every_page_is_linked_from_the_readme_of_its_folder(folder: str):
    told = REPOSITORY.texts[f"{folder}/README.md"]
    pages = [path.removeprefix(f"{folder}/") for path in PAGES if re.fullmatch(rf"{folder}/[^/]+", path)]
    assert not [page for page in pages if page != "README.md" and f"]({page})" not in told]


@pytest.mark.parametrize("page", [path for path in PAGES if path.startswith(ARCHITECTURE)])
def test_every_file_that_a_page_of_the_architecture_names_is_there(page: str):
    """By as much of its path as tells which one is meant: `traffic/gates.py`."""
    named = re.findall(r"`([\w./-]+\.py)`", REPOSITORY.texts[page])
    files = [f"/{path}" for path in (*REPOSITORY.texts, *citations.own(ROOT))]
    assert not [name for name in named if not any(path.endswith(f"/{name}") for path in files)]


ROOMS = (
    "core",
    "repo",
    "cluster",
    "agent",
    "cli",
    "hooks",
    "outbound",
    "sandbox",
    "spec.app",
    "spec.yaml",
    "spec.manifests",
)
"""What begins the dotted name of a module. `spec.x` and `analysis.x` alone are fields of app.yaml as well."""


def test_every_module_that_a_text_names_is_there():
    """By its name within the package: ``core.model.auxiliary``, or with something that is in it."""
    # Pages about peers speak of git's own core.fsmonitor.
    name = re.compile(rf"`((?:{'|'.join(map(re.escape, ROOMS))})\.[a-z][\w.]+)`")
    read = [path for path in REPOSITORY.texts if path.startswith(("gitops_bg/", ARCHITECTURE))]
    named = {
        (path, each) for path in read if not path.startswith(PEERS) for each in name.findall(REPOSITORY.texts[path])
    }
    assert not [(path, each) for path, each in sorted(named) if not _is_there(each)]


def _is_there(name: str) -> bool:
    file, within = ROOT / "gitops_bg" / name.replace(".", "/"), name.rpartition(".")
    if file.with_suffix(".py").exists() or file.is_dir():
        return True
    module = (ROOT / "gitops_bg" / within[0].replace(".", "/")).with_suffix(".py")
    return module.exists() and re.search(rf"\b{within[2]}\b", module.read_text()) is not None


def test_a_module_that_is_gone_is_noticed():
    assert _is_there("core.model.auxiliary")
    assert _is_there("core.delivery.holds.can_roll_back_without_gates")
    assert not _is_there("core.model.auxiliary_objects")
    assert not _is_there("core.delivery.holds.nobody_knows")


def test_layout_names_every_package():
    told = REPOSITORY.texts[f"{ARCHITECTURE}/layout.md"]
    packages = [path.parent.name for path in (ROOT / "gitops_bg").glob("*/__init__.py")]
    rooms = [path.parent.name for path in (ROOT / "gitops_bg" / "core").glob("*/__init__.py")]
    assert not [name for name in packages if f"  {name}/ " not in told]
    assert not [name for name in rooms if f"`{name}/`" not in told]


# --- the checker itself ---------------------------------------------------------------------------------------

SMALL = {
    f"{ARCHITECTURE}/rule.md": "# 4. The rule\n\n## 4.5 Way back\n",
    f"{ARCHITECTURE}/engine.md": "# 5. The engine\n\n| I1 | traffic |\n| I2 | sizes |\n",
    f"{PEERS}/gitops.md": "# GitOps\n\n## 3. Reverts\n\n### 3.1 Measured\n",
    "docs/decisions/0017-unknown.md": "# 17. Unknown\n",
    "docs/decisions/0025-explored.md": "# 25. Explored\n",
}


def lost(text: str) -> list[str]:
    """What does not resolve in a file of this text, beside a small design."""
    return [each.what for each in unresolved(Library({**SMALL, "some.py": text}), "some.py")]


@pytest.mark.parametrize(
    "text",
    [
        "as it is (DESIGN §4.5).",
        "DESIGN §4.5, §5, I1 and I2",
        "see DESIGN §4 and §5",
        "(gitops.md §3, DESIGN §4.5; RFC 6902 §4.6)",
        "by gitops.md §3.1: measured",
        "decision 17, docs/decisions/0017",
        "Decision 17 and decisions 17, 25 and 17",
        "YAML 1.2 §9.1.2",
        '    """The rule (gitops.md\n    §3)."""',
        "# whatever it is, DESIGN\n# §4.5 says so",
        "A decision has 3 parts, of which DESIGNERS know 2",
    ],
)
def test_citation_that_resolves(text: str):
    assert not lost(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("(DESIGN §4.6)", "no heading 4.6 in docs/architecture/*.md"),
        ("DESIGN §4.5, §6", "no heading 6 in"),
        ("DESIGN §4 and §45", "no heading 45 in"),
        ("DESIGN\n# §9", "no heading 9 in"),
        ("gitops.md §4", "no heading 4 in docs/architecture/peers/gitops.md"),
        ("flagger.md §1", "there is no docs/architecture/peers/flagger.md"),
        ("breaks I3", "docs/architecture/engine.md has no such invariant"),
        ("decision 18", "there is no docs/decisions/0018-"),
        ("Decision 18 says why", "there is no docs/decisions/0018-"),
        ("decisions 17, 25 and 18", "there is no docs/decisions/0018-"),
        ("docs/decisions/0018-why.md", "there is no docs/decisions/0018-"),
        ("as DESIGN has it", "nobody can tell"),
        ("DESIGN.md §4.5", "nobody can tell"),
        ("§3 of our reference", "nobody can tell"),
        ("gitops §3", "nobody can tell"),
        ("gitops.md B3", "nobody can tell"),
        ("(reference gitops.md)", "nobody can tell"),
    ],
)
def test_citation_that_leads_nowhere_is_found(text: str, what: str):
    assert what in next(iter(lost(text)), "")


def test_place_is_the_line_where_a_citation_begins():
    library = Library({**SMALL, "some.py": '"""One.\n\n    Two (DESIGN\n    §7).\n"""'})
    assert str(next(unresolved(library, "some.py"))).startswith("some.py:3: DESIGN §7")


@pytest.mark.parametrize(
    ("link", "what"),
    [
        ("rule.md", ""),
        ("rule.md#45-way-back", ""),
        ("#5-the-engine", ""),
        ("../decisions/0017-unknown.md", ""),
        ("https://example.com/nothing.md", ""),
        ("rules.md", "there is no docs/architecture/rules.md"),
        ("rule.md#46-way-back", "has no such heading"),
        ("#4-the-rule", "has no such heading"),
    ],
)
def test_links(link: str, what: str):
    page = f"{ARCHITECTURE}/engine.md"
    library = Library({**SMALL, page: f"# 5. The engine\n\nSee [it]({link}).\n"})
    found = [each.what for each in dead_links(library, page, library.texts.__contains__)]
    assert [what in each for each in found] == ([True] if what else [])


def test_number_that_two_files_give_is_found():
    library = Library({**SMALL, f"{ARCHITECTURE}/more.md": "## 4.5 Something else\n"})
    assert library.design["4.5"] == f"{ARCHITECTURE}/rule.md and {ARCHITECTURE}/more.md"


def test_anchors_are_as_the_example_says():
    assert doctest.testmod(citations).failed == 0

"""Every command of every page is run and prints what the page shows, or the page says why it is not run."""

from __future__ import annotations

import doctest
import shutil
from pathlib import Path

import pytest

from tests.documentation.commands import blocks, calls, printed
from tests.documentation.commands.pages import PAGES_OF_THE_REPOSITORY, STORIES, run, unexplained
from tests.documentation.commands.world import ROOT, reader
from tests.support.cluster.helm import HOW_TO_GET_IT, helm_at_hand

CLUSTERS = {False: "own_sandbox", True: "own_control_plane"}


def test_every_command_of_every_page_is_run_or_says_why_not() -> None:
    pages = {path: (ROOT / path).read_text() for path in PAGES_OF_THE_REPOSITORY}
    left = [each for path, page in pages.items() for each in unexplained(path, page)]
    assert not left, "\n".join(left)


@pytest.mark.slow
@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(
            paths,
            marks=pytest.mark.control_plane if start.needs_control_plane else (),
            id="-".join(Path(path).stem for path in paths),
        )
        for paths, start in STORIES.items()
    ],
)
def test_the_commands_of_pages_print_what_they_show(
    paths: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl on the PATH: https://kubernetes.io/docs/tasks/tools/")
    start = STORIES[paths]
    if start.needs_helm and helm_at_hand() is None:
        pytest.skip(HOW_TO_GET_IT)
    cluster = request.getfixturevalue(CLUSTERS[start.needs_control_plane])
    with reader(cluster, tmp_path, start) as shell:
        for path in paths:
            run(path, shell)


PAGE = """\
# A page

```console
$ git status
nothing
```
"""


@pytest.mark.parametrize(
    ("page", "trouble"),
    [
        (PAGE, "run the page"),
        (PAGE.replace("```console", "<!-- not run: it is an example -->\n```console"), ""),
        (PAGE.replace("```console", "<!-- not run: too far away -->\n\nText.\n\n```console"), "run the page"),
        (PAGE.replace("```console", "<!-- run by: tests/test_nothing.py -->\n```console"), "there is no test"),
        (PAGE.replace("```console", "<!-- run by: tests/test_doctests.py -->\n```console"), "does: git status"),
        (PAGE.replace("console", ""), "call the block `console`"),
        ("Type:\n\n    kubectl get pods\n", "call the block `console`"),
        ("```yaml\na: git\n```\n", ""),
    ],
)
def test_a_block_that_nobody_runs_is_found(page: str, trouble: str) -> None:
    found = unexplained("docs/page.md", page)
    assert [trouble in each for each in found] == ([True] if trouble else [])


NAMED = "A test\n\n<!-- run by: tests/cli/test_error_objects.py -->\n```console\n$ gitops-bg {}\n```\n"


@pytest.mark.parametrize(
    ("command", "is_run"),
    [
        ("get --fast -o json", False),  # the file has the verb and the option, but no one call that says both
        ("get Shop/web", True),
        ("get --fast", True),
        ("get --fast -w", False),
        ("policies replay", False),
    ],
)
def test_a_test_runs_a_command_if_one_of_its_calls_says_the_verb_and_every_option(command: str, is_run: bool) -> None:
    found = unexplained("docs/page.md", NAMED.format(command))
    assert ["no call in tests/cli/test_error_objects.py does" in each for each in found] == [True] * (not is_run)


@pytest.mark.parametrize("module", [blocks, calls, printed])
def test_pages_are_read_and_compared_as_the_examples_say(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]

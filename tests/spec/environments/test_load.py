"""environments.yaml: what is read, and what each mistake says, with its line and what would be right."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gitops_bg.core.environments.model import NO_ENVIRONMENTS, After, Enter, Newer
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.environments.load import load_environments

TEXT = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Environments
environments:
- name: dev
  clusters: [dev-1]
  autoPromotionEnabled: true
- name: staging
  clusters: [staging-1]
  after: {proven: 30m}
- name: prod
  clusters: [prod-eu, prod-us]
  after: {from: [staging], proven: 2h, newer: wait}
  enter: pullRequest
  waves: [[prod-eu], [prod-us]]
  between: 30m
"""


def test_the_file_is_read() -> None:
    found = load_environments(TEXT.encode())
    assert not found.problems
    assert found.environments is not None
    dev, staging, prod = found.environments
    assert (dev.name, dev.auto_promotion_enabled, dev.after, dev.enter) == ("dev", True, None, Enter.AUTO)
    assert staging.after == After(proven=timedelta(minutes=30))
    assert prod.after == After(("staging",), timedelta(hours=2), newer=Newer.WAIT)
    assert (prod.enter, prod.waves) == (Enter.PULL_REQUEST, (("prod-eu",), ("prod-us",)))
    assert prod.between == timedelta(minutes=30)


def test_a_repository_without_the_file_has_no_environments() -> None:
    found = load_environments(None)
    assert (found.environments, found.problems) == (NO_ENVIRONMENTS, ())
    assert found.of_cluster("anything") == (None, ())


def test_a_file_that_must_not_be_read_leaves_the_environments_unknown() -> None:
    link = Problem("environments.yaml", "is a symbolic link")
    found = load_environments(link)
    assert (found.environments, found.problems) == (None, (link,))
    assert found.of_cluster("dev-1") == (None, (link,))


@pytest.mark.parametrize(
    ("before", "after", "line", "said", "remedy"),
    [
        ("name: staging", "name: dev", 7, "dev is also the name of environment 1", "rename one of the two"),
        ("name: dev", "name: Dev", 4, "'Dev' is not allowed", "use a DNS name"),
        ("name: dev", "name: a/b", 4, "'a/b' is not allowed", "use a DNS name"),
        ("name: dev", "name: ..", 4, "'..' is not allowed", "use a DNS name"),
        ("name: dev", f"name: {'d' * 64}", 4, "is not allowed", "at most 63"),
        ("name: dev", "name: target", 4, "target is the name of a file of each app", "such as prod"),
        ("from: [staging]", "from: [stagin]", 12, "there is no environment stagin", "dev, staging"),
        ("from: [staging]", "from: [prod]", 12, "prod is this environment itself", "dev, staging"),
        ("  after: {proven: 30m}", "  after: {from: [prod]}", 9, "prod comes after staging", "dev"),
        (
            "  clusters: [dev-1]",
            "  after: {proven: 1m}\n  clusters: [dev-1]",
            5,
            "is the first environment",
            "remove it",
        ),
        ("proven: 2h", "proven: soon", 12, "must be a duration such as 30s, 5m or 1h30m", ""),
        ("clusters: [staging-1]", "clusters: [dev-1]", 8, "dev-1 is named in dev, too", "name each cluster once"),
        ("clusters: [staging-1]", "clusters: []", 8, "", ""),
        ("enter: pullRequest", "enter: merge", 13, "", "pullRequest"),
        ("newer: wait", "newest: wait", 12, "there is no such field", "newer"),
        ("[prod-us]]", "[prod-uk]]", 14, "prod-uk fits none of the clusters of prod", "prod-eu, prod-us"),
    ],
)
def test_a_mistake_has_its_line_and_what_would_be_right(
    before: str, after: str, line: int, said: str, remedy: str
) -> None:
    found = load_environments(TEXT.replace(before, after, 1).encode())
    assert found.environments is None
    problem = found.problems[0]
    assert (problem.file, problem.line) == ("environments.yaml", line)
    assert said in problem.message
    assert remedy in f"{problem.message} {problem.remedy}"


def test_every_mistake_is_told_at_once() -> None:
    text = TEXT.replace("[staging-1]", "[dev-1]").replace("[staging]", "[stagin]").replace("[prod-us]]", "[prod-uk]]")
    assert [each.line for each in load_environments(text.encode()).problems] == [8, 12, 14, 14]


def test_a_cluster_that_no_environment_names_is_an_error_that_names_the_file_and_what_was_meant() -> None:
    found = load_environments(TEXT.encode())
    assert found.of_cluster("prod-eu")[0] is not None
    none, (problem,) = found.of_cluster("staging-2")
    assert none is None
    assert str(problem) == (
        "environments.yaml:1: environments: names the cluster staging-2 in no environment, so nothing of the "
        "repository is for it (add staging-2 to the clusters of one; or did somebody mean staging-1, and --cluster is "
        "wrong?)"
    )

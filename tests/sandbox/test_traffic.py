"""The clients of the demo excuse nothing, and the template is found where it is."""

from __future__ import annotations

from gitops_bg.cli.demo.traffic import Visit, answer_of
from gitops_bg.cli.repository.worktree import template_folder


def test_no_answer_is_a_failure_with_its_reason() -> None:
    answer = answer_of("http://127.0.0.1:9")
    assert answer.version == ""
    assert "refused" in answer.failure


def test_a_visit_can_be_closed_twice() -> None:
    visit = Visit("http://127.0.0.1:9")
    visit.close()
    visit.close()
    assert not visit.is_open


def test_the_template_has_the_app_of_the_demo() -> None:
    assert (template_folder() / "apps/shop/web/target.yaml").is_file()

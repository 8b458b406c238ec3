"""Which groups main describes: each folder is read once, and what is unknown of one stays with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from gitops_bg.agent.desired import document_caches
from gitops_bg.agent.desired.document_caches import GroupCache
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.git.errors import RemoteUnreachable
from gitops_bg.repo.read.app_index import Hidden
from gitops_bg.spec.analysis.templates import Library, load_templates
from gitops_bg.spec.groups.load import GroupConfig, load_group

STORE, BLOG = GroupKey("shop", "store"), GroupKey("shop", "blog")
NOTHING_HIDDEN = Hidden()


def folder_of(group: GroupKey) -> dict[str, bytes | Problem]:
    text = f"""apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {{name: {group.name}, namespace: {group.namespace}}}
spec: {{active: v1}}
"""
    folder = f"groups/{group}"
    return {f"{folder}/group.yaml": text.encode(), f"{folder}/v1/cart/target.yaml": b""}


class Main:
    """The folders of groups, and which of them were read."""

    def __init__(self) -> None:
        self.files = {**folder_of(STORE), **folder_of(BLOG)}
        self.read: list[str] = []
        self.former: list[dict[str, bytes | Problem]] = []
        """What main said before, newest first."""
        self.trouble: GitopsBgError | None = None
        """Why its history cannot be read."""
        self.searches = 0
        self.cache = GroupCache(self._below, self._before)
        self.library = Library()

    def _below(self, folder: str) -> Mapping[str, bytes | Problem]:
        self.read.append(folder)
        return {path: content for path, content in self.files.items() if path.startswith(f"{folder}/")}

    def _before(self, folder: str) -> Iterator[Mapping[str, bytes | Problem]]:
        self.searches += 1
        if self.trouble is not None:
            raise self.trouble
        for files in self.former:
            yield {path: content for path, content in files.items() if path.startswith(f"{folder}/")}

    def take(self, store: str = "1", blog: str = "1", hidden: Hidden = NOTHING_HIDDEN) -> None:
        self.read.clear()
        self.cache.update({STORE: store, BLOG: blog}, hidden, "c" * 40, self.library)

    def valid(self) -> dict[str, bool]:
        return {group.name: config.desired.is_valid for group, config in self.cache.view.items()}

    def usable(self) -> dict[str, bool]:
        return {group.name: config.desired.spec is not None for group, config in self.cache.view.items()}


def test_only_a_folder_that_changed_is_read_again() -> None:
    main = Main()
    main.take()
    assert sorted(main.read) == ["groups/shop/blog", "groups/shop/store"]
    main.take(store="2")
    assert main.read == ["groups/shop/store"]
    main.cache.update({BLOG: "1"}, NOTHING_HIDDEN, "c" * 40, main.library)
    assert (main.usable(), main.read) == ({"blog": True}, ["groups/shop/store"])


def test_a_bug_that_one_folder_hits_is_its_problem_alone_and_it_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(group: GroupKey, *rest: object) -> GroupConfig:
        if group == STORE:
            raise RecursionError("too deep")
        return load_group(group, *rest)  # type: ignore[arg-type]

    main = Main()
    monkeypatch.setattr(document_caches, "load_group", bug)
    main.take()
    assert main.usable() == {"store": False, "blog": True}
    (problem,) = main.cache.view[STORE].desired.problems
    assert "groups/shop/store: " in str(problem)
    assert "too deep" in str(problem)
    monkeypatch.undo()
    main.take()
    assert (main.usable(), main.read) == ({"store": True, "blog": True}, ["groups/shop/store"])


def test_what_hides_a_folder_makes_it_unknown_until_it_is_gone() -> None:
    main = Main()
    main.take()
    link = Problem("groups/shop", "is a symbolic link")
    main.take(hidden=Hidden({link.file: link}))
    assert main.valid() == {"store": False, "blog": False}
    assert main.cache.view[STORE].desired.problems == (link,)
    assert main.usable() == {"store": True, "blog": True}, "what it said last holds"
    main.take()
    assert main.valid() == {"store": True, "blog": True}


def test_a_link_in_place_of_a_version_leaves_the_whole_group_unknown() -> None:
    main = Main()
    main.files["groups/shop/store/v2"] = Problem("groups/shop/store/v2", "is a symbolic link")
    main.take()
    assert main.usable() == {"store": False, "blog": True}


BROKEN = b"spec: {active: v1, archiveSise: 2}"


@pytest.mark.parametrize("seen", [True, False], ids=["seen by this process", "found in main's history"])
def test_a_folder_with_a_mistake_says_what_it_said_last(seen: bool) -> None:
    main, path = Main(), "groups/shop/store/group.yaml"
    if seen:
        main.take()
        before = main.cache.view[STORE]
    else:
        start = "groups/shop/store/"
        own = {name.removeprefix(start): file for name, file in main.files.items() if name.startswith(start)}
        before = load_group(STORE, own)
        main.former = [{**main.files, path: BROKEN}, main.files, {path: b"older"}]
    main.files = {**main.files, path: BROKEN}
    main.take(store="2")
    config = main.cache.view[STORE]
    assert (config.desired.spec, config.desired.versions) == (before.desired.spec, before.desired.versions)
    assert (config.desired.is_valid, config.body) == (False, before.body)
    assert "archiveSise" in str(config.desired.problems)
    assert main.valid() == {"store": False, "blog": True}


def test_a_folder_that_was_never_valid_says_nothing() -> None:
    main, path = Main(), "groups/shop/store/group.yaml"
    main.files = {**main.files, path: BROKEN}
    main.former = [main.files]
    main.take()
    assert main.cache.view[STORE].desired.spec is None


def test_a_group_that_left_main_and_comes_back_broken_says_nothing_of_its_former_life() -> None:
    main = Main()
    main.take()
    main.cache.update({BLOG: "1"}, NOTHING_HIDDEN, "c" * 40, main.library)
    before = main.files
    main.files = {**before, "groups/shop/store/group.yaml": BROKEN}
    main.former = [main.files, {}, before]
    main.take()
    assert main.usable() == {"store": False, "blog": True}


def test_a_history_that_cannot_be_read_is_read_again_and_one_that_can_only_once() -> None:
    main, before = Main(), folder_of(STORE)
    main.files = {**main.files, "groups/shop/store/group.yaml": BROKEN}
    main.trouble = RemoteUnreachable("the remote does not answer")
    main.take()
    assert main.usable() == {"store": False, "blog": True}
    main.trouble = None
    main.former = [main.files, before]
    main.take()
    assert (main.usable(), main.read) == ({"store": True, "blog": True}, ["groups/shop/store"])
    blog = Main()
    blog.files = {**blog.files, "groups/shop/store/group.yaml": BROKEN}
    for tree in ("1", "2", "3"):
        blog.take(store=tree)
    assert blog.searches == 1, "what comes later, this process sees itself"


def test_a_bug_in_reading_what_a_folder_was_leaves_it_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(group: GroupKey, *rest: object) -> GroupConfig:
        raise RecursionError("too deep")

    main = Main()
    main.former = [main.files]
    monkeypatch.setattr(document_caches, "load_group", bug)
    main.take()
    assert main.usable() == {"store": False, "blog": False}


TEMPLATE = """apiVersion: gitops-bg.dev/v1alpha1
kind: AnalysisTemplate
metadata: {name: smoke}
spec: {metrics: [{name: smoke, provider: {web: {url: "http://cart"}}}]}
"""


def test_a_group_is_read_again_when_a_template_changes_that_it_measures_with() -> None:
    main = Main()
    path = "groups/shop/store/group.yaml"
    spec = b"spec: {active: v1, prePromotionAnalysis: {templates: [{templateName: smoke}]}}"
    content = main.files[path]
    assert isinstance(content, bytes)
    main.files[path] = content.replace(b"spec: {active: v1}", spec)
    main.take()
    (missing,) = main.cache.view[STORE].desired.problems
    assert "there is no AnalysisTemplate smoke in analysis/" in str(missing)
    assert main.usable() == {"store": True, "blog": True}, "it can still go back"
    main.library = load_templates({"analysis/smoke.yaml": TEMPLATE.encode()})
    main.take()
    assert (main.read, main.cache.view[STORE].desired.problems) == (["groups/shop/store"], ())
    main.library = load_templates({"analysis/smoke.yaml": TEMPLATE.encode(), "analysis/x.yaml": b""})
    main.take()
    assert main.read == []

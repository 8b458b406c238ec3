"""Edits of an author's file: one value changes, every other byte stays, and what is not safe is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.spec.manifests.edit import (
    set_history_generation,
    set_image,
    set_restart,
    set_retry,
    set_suspend,
    set_template,
)
from tests.spec.texts import APP, TARGET

NEW = "registry.example/shop/web:2.0.0"

FRAME = """\
# é 😀 top
spec:
  template:
    spec:
     containers:
     -
       name: web
       {}
       x: [1,  2]
# end"""

# how the image stands in the file: how it stands there afterwards
STYLES = {
    "image: a/web:1": f"image: {NEW}",
    "image: a/web:1   # the tag": f"image: {NEW}   # the tag",
    'image:   "a/web:1"': f'image:   "{NEW}"',
    "image: 'a/web:1' # x": f"image: '{NEW}' # x",
    "image: &web a/web:1 # x": f"image: &web {NEW} # x",
    '"image" : a/web:1': f'"image" : {NEW}',
    "image: |-\n        a/web:1\n": f'image: "{NEW}"\n',
    "image:\n        a/web:1": f"image:\n        {NEW}",
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_an_image_keeps_its_style(style: str, line_break: str) -> None:
    before = FRAME.format(style).replace("\n", line_break)
    after = FRAME.format(STYLES[style]).replace("\n", line_break)
    assert set_image(before.encode(), "web", NEW).decode() == after


def test_indentation_comments_and_flow_style_stay() -> None:
    before = """\ufeff
spec:
    # four spaces
    template:
        spec:
            initContainers: [ {name: init, image: "busybox:1"}, ]   # init
            containers:
            -   name: web   # the one
                image: web:1
            -   { name: side, image: 'side:1', args: [http://x:80] }
"""
    once = set_image(before.encode(), "init", "busybox:2")
    assert once.decode() == before.replace("busybox:1", "busybox:2")
    twice = set_image(once, "side", "it's:2")
    assert twice.decode() == before.replace("busybox:1", "busybox:2").replace("side:1", "it''s:2")


def test_an_image_that_needs_quotes_gets_them() -> None:
    assert b'image: "010"\n' in set_image(TARGET.encode(), "web", "010")


def refusal(data: str, container: str = "web") -> str:
    with pytest.raises(InvalidInput) as caught:
        set_image(data.encode(), container, NEW)
    return str(caught.value)


def test_an_image_that_is_an_alias_is_refused() -> None:
    text = TARGET.replace("image: registry.example/shop/web:1.0.0", "image: *i").replace("name: web", "name: &i web")
    text = text.replace("- name: &i web", "- name: web").replace("  namespace: shop", "  namespace: shop", 1)
    assert refusal(text) == (
        "target.yaml:18: spec.template.spec.containers[0].image: the value is an alias (*…): changing it would change "
        "every place that uses its anchor (write the value out here, then edit it)"
    )


def test_an_image_whose_anchor_is_used_elsewhere_is_refused() -> None:
    text = TARGET.replace("image: ", "image: &i ") + "          args: [*i]\n"
    assert "it cannot be changed without changing more than" in refusal(text)


def test_a_container_that_is_not_there_is_refused_with_the_names() -> None:
    assert refusal(TARGET, "wbe") == (
        "target.yaml:16: spec.template.spec.containers: there is no container wbe with an image "
        "(the containers are: web)"
    )


@pytest.mark.parametrize("text", ["a: 1", "spec: {template: {spec: x}}", "spec: {template: {spec: {containers: [x]}}}"])
def test_a_file_without_containers_is_refused(text: str) -> None:
    assert "there is no container web" in refusal(text)


def test_a_broken_file_is_refused_with_its_problems() -> None:
    assert "this is not YAML" in refusal("a: [")


SUSPENSION = Suspension('incident "42"', "ann", datetime(2026, 3, 1, 12, tzinfo=UTC))
WRITTEN = 'suspend: {reason: "incident \\"42\\"", by: "ann", until: "2026-03-01T12:00:00Z"}'

# app.yaml: the same with a suspension
SUSPENDED = {
    "kind: x\nspec:   # s\n    # about a\n    a: 1\n# end\n": (
        f"kind: x\nspec:   # s\n    {WRITTEN}\n    # about a\n    a: 1\n# end\n"
    ),
    "spec:\r\n  a: 1\r\n": f"spec:\r\n  {WRITTEN}\r\n  a: 1\r\n",
    "spec:\n  'a': 1": f"spec:\n  {WRITTEN}\n  'a': 1",
    "spec: {a: 1}\n": f"spec: {{{WRITTEN}, a: 1}}\n",
    "spec: {}": f"spec: {{{WRITTEN}}}",
    "spec: &s {a: 1}": f"spec: &s {{{WRITTEN}, a: 1}}",
}


@pytest.mark.parametrize("before", SUSPENDED)
def test_a_suspension_goes_below_its_parent_and_leaves_no_trace(before: str) -> None:
    suspended = set_suspend(before.encode(), SUSPENSION)
    assert suspended.decode() == SUSPENDED[before]
    assert set_suspend(suspended, None).decode() == before


# app.yaml with a suspension somebody wrote: (with another one, with none)
REPLACED = {
    "spec:\n  suspend:\n    # why\n    reason: |\n      long\n      story\n\n  a: 1\n": (
        'spec:\n  suspend: {reason: "r"}\n\n  a: 1\n',
        "spec:\n\n  a: 1\n",
    ),
    "spec:\n  a: 1\n  suspend: {reason: x}  # c": ('spec:\n  a: 1\n  suspend: {reason: "r"}  # c', "spec:\n  a: 1\n"),
    "spec:\n  a: 1\n  suspend:\n": ('spec:\n  a: 1\n  suspend: {reason: "r"}\n', "spec:\n  a: 1\n"),
    'spec:\n  "suspend": {reason: x}\n  a: 1\n': ('spec:\n  "suspend": {reason: "r"}\n  a: 1\n', "spec:\n  a: 1\n"),
    "spec: {a: 1, suspend: {reason: x}}": ('spec: {a: 1, suspend: {reason: "r"}}', "spec: {a: 1}"),
    "spec: {suspend: {reason: x}, a: 1}": ('spec: {suspend: {reason: "r"}, a: 1}', "spec: {a: 1}"),
    "spec: {suspend: {reason: x}}": ('spec: {suspend: {reason: "r"}}', "spec: {}"),
}


@pytest.mark.parametrize("before", REPLACED)
def test_a_suspension_is_replaced_or_removed_as_a_whole(before: str) -> None:
    other, none = REPLACED[before]
    assert set_suspend(before.encode(), Suspension("r")).decode() == other
    assert set_suspend(before.encode(), None).decode() == none


def test_removing_a_suspension_that_is_not_there_changes_nothing() -> None:
    assert set_suspend(APP.encode(), None) == APP.encode()


@pytest.mark.parametrize(
    "text",
    ["kind: x\n", "spec:\n", "spec: text\n", "spec: &s\n  a: 1\nother: *s\n", "x: &x {a: 1}\nspec: *x\n"],
    ids=["no spec", "empty spec", "spec is text", "spec is shared", "spec is an alias"],
)
def test_a_suspension_that_cannot_be_placed_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"app.yaml:\d+: spec.suspend: "):
        set_suspend(text.encode(), SUSPENSION)


def test_a_suspension_that_is_an_alias_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is an alias"):
        set_suspend(b"x: &x {reason: a}\nspec: {suspend: *x }\n", SUSPENSION)


def test_a_restart_is_written_and_moved() -> None:
    zone = timezone(timedelta(hours=2))
    once = set_restart(APP.encode(), datetime(2026, 3, 1, 14, tzinfo=zone))
    assert once.decode() == APP.replace("spec:\n", 'spec:\n  restartAt: "2026-03-01T12:00:00Z"\n')
    twice = set_restart(once, datetime(2026, 3, 2, tzinfo=UTC))
    assert twice.decode() == APP.replace("spec:\n", 'spec:\n  restartAt: "2026-03-02T00:00:00Z"\n')


def test_a_retry_is_written_and_counted_up() -> None:
    digest = "v1:" + "3f" * 32
    once = set_retry(APP.encode(), Retry(digest, 1, "ann"))
    assert once.decode() == APP.replace("spec:\n", f'spec:\n  retry: {{digest: "{digest}", number: 1, by: "ann"}}\n')
    twice = set_retry(once, Retry(digest, 2))
    assert twice.decode() == APP.replace("spec:\n", f'spec:\n  retry: {{digest: "{digest}", number: 2}}\n')


# gitops-bg.yaml: the same with the generation of the history
ACCEPTED = {
    "kind: Settings\n": "kind: Settings\nhistoryGeneration: 2\n",
    "kind: Settings": "kind: Settings\nhistoryGeneration: 2\n",
    "kind: Settings\r\n# end\r\n": "kind: Settings\r\n# end\r\nhistoryGeneration: 2\r\n",
    "historyGeneration: 1  # why\nkind: Settings\n": "historyGeneration: 2  # why\nkind: Settings\n",
    "{kind: Settings}\n": "{historyGeneration: 2, kind: Settings}\n",
}


@pytest.mark.parametrize("before", ACCEPTED)
def test_an_accepted_history_is_written_to_the_settings(before: str) -> None:
    assert set_history_generation(before.encode(), 2).decode() == ACCEPTED[before]


# --- the pod template ---

OLD = """\
kind: Deployment
spec:
  replicas: 3
  template:  # what runs
    metadata: {labels: {app: web}}
    spec:
      containers:
        # the one
        - name: web
          image: web:1   # the tag
          args: ["a",  'b']
"""

NOW = """\
# é
kind: Deployment
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: web:2
          env:
            - name: BANNER
              value: |
                two
                lines
  # how many
  replicas: 5
  paused: false
"""

BACK = """\
# é
kind: Deployment
spec:
  template:  # what runs
    metadata: {labels: {app: web}}
    spec:
      containers:
        # the one
        - name: web
          image: web:1   # the tag
          args: ["a",  'b']
  # how many
  replicas: 5
  paused: false
"""

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "web:1", "args": ["a", "b"]}]},
}

ANEW = """\
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: web:1
          args:
            - a
            - b
"""


@pytest.mark.parametrize("line_break", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_template_comes_back_as_it_was_written_and_all_around_it_stays(line_break: str) -> None:
    data = NOW.replace("\n", line_break).encode()
    assert set_template(data, TEMPLATE, like=OLD.encode()) == BACK.replace("\n", line_break).encode()


@pytest.mark.parametrize(
    "like",
    [
        "",
        OLD.replace("web:1", "web:0"),
        OLD.replace("  template:", " template:").replace("  replicas", " replicas"),
        "kind: Deployment\nspec: {template: {metadata: {labels: {app: web}}, spec: {containers: "
        "[{name: web, image: 'web:1', args: [a, b]}]}}}\n",
    ],
    ids=["nothing", "another template", "other columns", "flow style"],
)
def test_a_template_that_is_nowhere_to_be_copied_from_is_written_anew(like: str) -> None:
    changed = set_template(NOW.encode(), TEMPLATE, like=like.encode()).decode()
    assert changed.startswith("# é\nkind: Deployment\nspec:\n  template:\n")
    assert changed.endswith("  # how many\n  replicas: 5\n  paused: false\n")
    assert ANEW in changed


def test_a_template_whose_old_text_needs_an_anchor_from_elsewhere_is_written_anew() -> None:
    like = "x: &app {app: web}\n" + OLD.replace("labels: {app: web}", "labels: *app")
    assert ANEW in set_template(NOW.encode(), TEMPLATE, like=like.encode()).decode()


def test_a_template_in_flow_style_stays_on_its_line() -> None:
    data = b"kind: Deployment\nspec: {replicas: 2, template: {spec: {}}, paused: true} # all\n"
    assert set_template(data, {"spec": {"a": 1}}) == (
        b'kind: Deployment\nspec: {replicas: 2, template: {"spec": {"a": 1}}, paused: true} # all\n'
    )


def test_the_template_of_a_podtemplate_is_at_its_top() -> None:
    assert set_template(b"kind: PodTemplate\ntemplate:\n  spec: {a: 1}\n", {"b": 2}) == (
        b"kind: PodTemplate\ntemplate:\n  b: 2\n"
    )


OF_OAM = """\
kind: PodSpecWorkload
metadata: {name: web, labels: {app: web}}
spec:
  podSpec:
    containers: [{name: web, image: "web:2"}]
  replicas: 2
"""


def test_the_template_of_a_podspecworkload_comes_back_where_its_pods_are() -> None:
    labels = {"app": "web", "component.oam.dev/name": "web"}
    old = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    like = OF_OAM.replace("web:2", "web:1")
    assert set_template(OF_OAM.encode(), old, like=like.encode()).decode() == like
    anew = set_template(OF_OAM.encode(), old).decode()
    assert anew == OF_OAM.replace('[{name: web, image: "web:2"}]', "\n      - name: web\n        image: web:1").replace(
        "containers: \n", "containers:\n"
    )


def test_other_labels_of_the_pods_of_a_podspecworkload_are_no_edit_of_one_place() -> None:
    old = {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": []}}
    with pytest.raises(InvalidInput) as caught:
        set_template(OF_OAM.encode(), old)
    assert str(caught.value) == (
        "target.yaml:2: metadata.labels: the labels of the pods were others, and here they are those of the workload "
        '(write {"app": "shop"} by hand first)'
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("kind: Deployment\nspec: {replicas: 1}\n", "there is no pod template"),
        ("x: &t {a: 1}\nspec:\n  template: *t\n", "the value is an alias"),
        ("spec:\n  template: {a: &x 1}\n  other: *x\n", "cannot be changed without changing more than spec.template"),
    ],
)
def test_a_template_that_cannot_be_replaced_safely_is_refused(data: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        set_template(data.encode(), TEMPLATE)
    assert words in str(caught.value)

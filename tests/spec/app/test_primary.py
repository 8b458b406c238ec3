"""primary.yaml: what is written is read back with the same digest, and reads well as a diff."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gitops_bg.core.errors import InternalError, InvalidInput
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import AppKey, Color, ServicePorts, Snapshot, Source, Stage, Version, WorkloadKind
from gitops_bg.spec.app.primary import PrimaryFile, read_primary, render_primary
from gitops_bg.spec.manifests.configuration import configuration_of
from gitops_bg.spec.yaml.reader import read_one
from gitops_bg.spec.yaml.scalars import scalar, to_yaml

WEB = AppKey("shop", "web")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def version(snapshot: Snapshot, source: Source) -> Version:
    return Version(7, snapshot, Color.BLUE, Stage.ACTIVE, source, 7, NOW)


def test_a_daemon_set_says_so_and_is_read_back_as_one() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    snapshot = snapshot_of(template, workload=WorkloadKind.DAEMON_SET)
    text = render_primary(WEB, version(snapshot, Source("9be1" * 10)))
    assert "\nworkload: DaemonSet\n" in text
    document, _ = read_one("apps/shop/web/primary.yaml", text.encode())
    assert document is not None
    primary, problems = read_primary(document, WEB)
    assert (primary and primary.snapshot, problems) == (snapshot, ())
    changed, _ = read_one("apps/shop/web/primary.yaml", text.replace("workload: DaemonSet\n", "").encode())
    assert changed is not None
    assert "edited by hand" in str(read_primary(changed, WEB)[1][0])


def test_the_file_reads_like_this() -> None:
    template = {
        "metadata": {"labels": {"app": "web", "app.kubernetes.io/version": "1.10"}, "annotations": {"note": ""}},
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "image": "registry.example/shop/web:1.0.0",
                    "args": ["--url=http://x:80", "on", "-v"],
                    "command": ["sh", "-c", "set -e\nexec web\n"],
                    "ports": [{"containerPort": 8080}],
                    "resources": {"limits": {"cpu": 0.5}},
                }
            ]
        },
    }
    date = datetime(2026, 3, 1, 13, 30, tzinfo=timezone(timedelta(hours=1)))
    text = render_primary(WEB, version(snapshot_of(template), Source("9be1" * 10, "Ann <ann@example.com>", date)))
    head, _, body = text.partition("apiVersion: ")
    assert all(line.startswith("# ") for line in head.splitlines())
    assert (
        body
        == f"""\
gitops-bg.dev/v1alpha1
kind: Primary
metadata:
  name: web
  namespace: shop
version: 7
digest: {snapshot_of(template).digest}
source:
  commit: {"9be1" * 10}
  author: "Ann <ann@example.com>"
  date: "2026-03-01T12:30:00Z"
template:
  metadata:
    annotations:
      note: ""
    labels:
      app: web
      app.kubernetes.io/version: "1.10"
  spec:
    containers:
      - args:
          - "--url=http://x:80"
          - "on"
          - "-v"
        command:
          - sh
          - "-c"
          - |
            set -e
            exec web
        image: registry.example/shop/web:1.0.0
        name: web
        ports:
          - containerPort: 8080
        resources:
          limits:
            cpu: 0.5
"""
    )


NASTY = [
    "yes",
    "010",
    "1e3",
    "12:30:45",
    "2026-01-01",
    "",
    " ",
    "a\n",
    "\n",
    "a\n\nb\n",
    "a\n b",
    " a\nb",
    "a \nb",
    "#",
]
NASTY += ["a: b", "a #b", "- a", "é", "😀", "\x85", "\u2028", "\ufeff", "\x7f", "\t", "a\tb\nc", "\r\n", "'", '"', "\\"]
NASTY += [
    "null",
    "~",
    "true",
    "{}",
    "[]",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
    "`a",
    "|",
    ">",
    "?",
    ":",
    "a:",
    "<<",
    "=",
    "...",
]
NASTY += ["\0", "\x1b", "a\n\n", "a\nb\n\n", "---", "--- a", "a\nb\x85c", "a,b", "$(A)", "0x1F", "1_000", ".5"]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(NASTY)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(texts, children, max_size=3),
    max_leaves=12,
)
templates = st.dictionaries(texts, values, min_size=1, max_size=4)


@given(templates, texts)
@example({"a": NASTY, "b": {text: text for text in NASTY}, "c": [[[]], {}, [{"x": [1]}]]}, "x\ny")
def test_what_is_written_is_read_back_with_the_same_digest(template: dict[str, object], author: str) -> None:
    snapshot = snapshot_of({"always": "there", **template})
    written = version(snapshot, Source("9be1", author, NOW))
    text = render_primary(WEB, written)
    assert text == render_primary(WEB, written)
    document, problems = read_one("primary.yaml", text.encode())
    assert problems == ()
    assert document is not None
    primary, problems = read_primary(document, WEB)
    assert problems == ()
    assert primary is not None
    assert (primary.snapshot, primary.version) == (snapshot, 7)
    assert primary.source == Source("9be1", author, NOW)


@given(templates)
@example({"a": NASTY, "b": {text: text for text in NASTY}})
def test_other_yaml_parsers_read_the_same(template: dict[str, object]) -> None:
    text = to_yaml(template)
    as_json = json.loads(json.dumps(template))
    assert yaml.load(text, Loader=yaml.CSafeLoader) == as_json
    assert YAML(typ="safe", pure=True).load(text) == as_json


def test_a_date_or_author_nobody_knows_is_left_out() -> None:
    text = render_primary(WEB, version(snapshot_of({"a": "b"}), Source("9be1")))
    assert "source:\n  commit: 9be1\ntemplate:" in text


def test_floats_are_written_so_that_every_parser_sees_a_number() -> None:
    assert [scalar(value) for value in (1e20, 1e-7, 1.5, 1.5e300)] == ["1.0e+20", "1.0e-07", "1.5", "1.5e+300"]


CONFIGURATION = (
    configuration_of("Secret", "web", {"type": "x/y", "data": {"b": "aHVudGVyMg==", "a": "eA=="}}),
    configuration_of("ConfigMap", "web", {"data": {"settings.ini": "[web]\ncolor = blue\n", "on": "yes"}}),
    configuration_of("ConfigMap", "icons", {"binaryData": {"icon": "AP8="}}),
)
USING = snapshot_of({"spec": {"x": "y"}}, (each.ref for each in CONFIGURATION))


def test_configuration_stands_beside_the_template() -> None:
    text = render_primary(WEB, version(USING, Source("9be1")), CONFIGURATION)
    assert (
        text.partition("template:\n")[2]
        == """\
  spec:
    x: "y"
configuration:
  - kind: ConfigMap
    name: icons
    binaryData:
      icon: AP8=
  - kind: ConfigMap
    name: web
    data:
      "on": "yes"
      settings.ini: |
        [web]
        color = blue
  - kind: Secret
    name: web
    type: x/y
    data:
      a: eA==
      b: aHVudGVyMg==
"""
    )


def read_back(text: str) -> tuple[PrimaryFile | None, list[str]]:
    document, _ = read_one("primary.yaml", text.encode())
    assert document is not None
    primary, problems = read_primary(document, WEB)
    return primary, [str(problem) for problem in problems]


def test_configuration_is_read_back() -> None:
    primary, problems = read_back(render_primary(WEB, version(USING, Source("9be1")), CONFIGURATION))
    assert problems == []
    assert primary is not None
    assert primary.snapshot == USING
    assert {each.ref: each.content for each in primary.configuration} == {
        each.ref: each.content for each in CONFIGURATION
    }


EDITED = {
    "a value": ("color = blue", "color = green"),
    "a Secret": ("aHVudGVyMg==", "eA=="),
    "a name": ("name: icons", "name: images"),
    "a type": ("type: x/y", "type: x/z"),
    "what was left out": ("  - kind: ConfigMap\n    name: icons\n    binaryData:\n      icon: AP8=\n", ""),
}


@pytest.mark.parametrize("edit", EDITED)
def test_configuration_that_was_edited_by_hand_is_an_error(edit: str) -> None:
    text = render_primary(WEB, version(USING, Source("9be1")), CONFIGURATION)
    before, after = EDITED[edit]
    assert before in text
    primary, (problem,) = read_back(text.replace(before, after))
    assert primary is None
    assert "primary.yaml:9: digest: what is below it has the digest" in problem


def test_base64_that_is_none_is_an_error() -> None:
    text = render_primary(WEB, version(USING, Source("9be1")), CONFIGURATION)
    primary, (problem,) = read_back(text.replace("aHVudGVyMg==", "hunter2"))
    assert primary is None
    assert "configuration: is not base64" in problem


def test_only_what_the_version_uses_is_written() -> None:
    text = render_primary(WEB, version(snapshot_of({"spec": {"x": "y"}}), Source("9be1")), CONFIGURATION)
    assert "configuration:" not in text


def test_half_a_version_is_not_written() -> None:
    with pytest.raises(InvalidInput, match=r"what ConfigMap web of v7 .* held is nowhere to be found"):
        render_primary(WEB, version(USING, Source("9be1")), CONFIGURATION[:1] + CONFIGURATION[2:])


PORTS = (
    ServicePorts("web", '[{"name":"http","port":80,"targetPort":"http"}]'),
    ServicePorts("web-grpc", '[{"port":9000}]'),
)


def test_ports_of_live_traffic_stand_there_as_in_git_and_are_no_part_of_the_digest() -> None:
    promoted = version(snapshot_of({"a": "b"}), Source("9be1"))
    text = render_primary(WEB, promoted, services=PORTS)
    assert "services:\n  web:\n    ports:\n      - name: http\n        port: 80\n        targetPort: http\n" in text
    primary, problems = read_back(text)
    assert not problems
    assert primary is not None
    assert (primary.services, primary.snapshot.digest) == (PORTS, promoted.digest)
    assert "services" not in render_primary(WEB, promoted)


def test_a_source_that_nobody_knows_is_written_as_no_commit_and_read_back_as_unknown() -> None:
    text = render_primary(WEB, version(snapshot_of({"a": "b"}), Source("")))
    assert f'source:\n  commit: "{"0" * 40}"\n' in text
    primary, problems = read_back(text)
    assert not problems
    assert primary is not None
    assert primary.source == Source("")


NOBODY_COULD_READ = {
    "a digest cut short": (replace(snapshot_of({"a": "b"}), digest="d763871d2b"), (), "digest: "),
    "the digest of something else": (replace(snapshot_of({"a": "b"}), text='{"a":"c"}'), (), "has the digest"),
    "a Service without ports": (snapshot_of({"a": "b"}), (ServicePorts("web", "[]"),), "services.web.ports: "),
}


@pytest.mark.parametrize("name", NOBODY_COULD_READ)
def test_what_nobody_could_read_is_not_rendered(name: str) -> None:
    """Found so: the agent pushed a primary.yaml that it refused itself, and the app was invalid for ever."""
    snapshot, services, complaint = NOBODY_COULD_READ[name]
    with pytest.raises(InternalError, match=f"would be invalid: apps/shop/web/primary.yaml:.*{complaint}"):
        render_primary(WEB, version(snapshot, Source("9be1")), services=services)

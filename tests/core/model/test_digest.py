"""The digest never changes: another value here would start a rollout in every repository (DESIGN §3.3)."""

import hashlib
from dataclasses import replace
from itertools import pairwise

import pytest

from gitops_bg.core.model import digest as digests
from gitops_bg.core.model.digest import (
    canonical_json,
    digest_of,
    is_genuine,
    same_content,
    same_snapshot,
    snapshot_of,
    with_configuration,
)
from gitops_bg.core.model.version import ConfigurationRef, Snapshot, WorkloadKind, short

NGINX = {"spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]}}

# Template, its canonical text, its digest. Never change a line; a new algorithm gets a new prefix and a new table.
GOLDEN = {
    "nothing": (
        {},
        "{}",
        "v1:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    ),
    "one container": (
        NGINX,
        '{"spec":{"containers":[{"image":"nginx:1.27","name":"web"}]}}',
        "v1:ab6834de634fc105d5c021487a91c0ae74d211fa68b4a999ca16928d276b70be",
    ),
    "labels, ports, probes and every kind of scalar": (
        {
            "metadata": {"labels": {"app": "web", "tier": "front"}, "annotations": {"note": ""}},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": False,
                "containers": [
                    {
                        "name": "web",
                        "image": "registry/web@sha256:00ff",
                        "args": ["--level", "010", "yes"],
                        "ports": [{"containerPort": 8080}],
                        "resources": {"limits": {"cpu": 1.5, "memory": "64Mi"}},
                    }
                ],
            },
        },
        '{"metadata":{"annotations":{"note":""},"labels":{"app":"web","tier":"front"}},"spec":'
        '{"automountServiceAccountToken":false,"containers":[{"args":["--level","010","yes"],"image":'
        '"registry/web@sha256:00ff","name":"web","ports":[{"containerPort":8080}],"resources":{"limits":'
        '{"cpu":1.5,"memory":"64Mi"}}}],"terminationGracePeriodSeconds":0}}',
        "v1:56c03a270fd81649bbaffcb5de4a3523b1b97a53d58acd95cf67165687cc0312",
    ),
    "letters of other scripts, as they are": (
        {"metadata": {"annotations": {"größe": "Ω – 日本 😀"}}},
        '{"metadata":{"annotations":{"größe":"Ω – 日本 😀"}}}',
        "v1:37910161f784e5c6cb5b8ac84b9ca87ec5d46098aecd42b1e9c1edafe61233c9",
    ),
    "quotes, backslashes and control characters": (
        {"a": 'say "hi"\\\n\t\u0000/'},
        r'{"a":"say \"hi\"\\\n\t\u0000/"}',
        "v1:d3b8fb51dda9a91e1fc8278f086e4f82535ac5d095e8f51eb12ecfbaa0c29890",
    ),
    "empty list, empty map in a list, null in a list": (
        {"args": [], "volumes": [{"emptyDir": {}}, {}, None]},
        '{"args":[],"volumes":[{},{},null]}',
        "v1:cab8057783d3d5f1281eee7bb97a94835b88f4f3a5d784e8ea760e86694ad8f8",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name):
    template, canonical, digest = GOLDEN[name]
    assert (canonical_json(template), snapshot_of(template).digest) == (canonical, digest)


def test_a_golden_digest_is_the_sha256_of_the_canonical_text_in_utf8():
    for _, canonical, digest in GOLDEN.values():
        assert digest == "v1:" + hashlib.sha256(canonical.encode()).hexdigest() == digest_of(canonical)


SAME = {
    "the order of keys": {"spec": {"containers": [{"image": "nginx:1.27", "name": "web"}]}},
    "a null": {**NGINX, "metadata": None},
    "an empty map": {**NGINX, "metadata": {}},
    "maps that hold nothing but nulls and empty maps": {**NGINX, "metadata": {"labels": {"a": None}, "x": {"y": {}}}},
    "a tuple in place of a list": {"spec": {"containers": ({"name": "web", "image": "nginx:1.27"},)}},
}


@pytest.mark.parametrize("name", SAME)
def test_is_not_changed_by(name):
    assert snapshot_of(SAME[name]).digest == snapshot_of(NGINX).digest


TEXTS = {
    "keeps empty maps, which mean something to Kubernetes": (
        {"volumes": [{"emptyDir": {}}], "namespaceSelector": {}},
        '{"namespaceSelector":{},"volumes":[{"emptyDir":{}}]}',
    ),
    "leaves out nulls, also in lists of maps": ({"a": None, "b": [{"c": None}, None]}, '{"b":[{},null]}'),
    "sorts its keys and has no white space": ({"b": 1, "a": [1, 2]}, '{"a":[1,2],"b":1}'),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_snapshot(name):
    template, text = TEXTS[name]
    assert snapshot_of(template).text == text


def test_the_digest_of_a_text_is_that_of_its_template():
    for template, _, digest in GOLDEN.values():
        assert digest_of(snapshot_of(template).text) == digest


OTHER = {
    "another image": {"spec": {"containers": [{"name": "web", "image": "nginx:1.28"}]}},
    "an empty text": {**NGINX, "note": ""},
    "a zero": {**NGINX, "note": 0},
    "a false": {**NGINX, "note": False},
    "an empty list": {**NGINX, "note": []},
    "a number in place of its text": {"spec": {"containers": [{"name": "web", "image": 1}]}},
    "an empty container": {"spec": {"containers": [{"name": "web", "image": "nginx:1.27"}, {}]}},
}


@pytest.mark.parametrize("name", OTHER)
def test_is_changed_by(name):
    assert snapshot_of(OTHER[name]).digest != snapshot_of(NGINX).digest


def test_the_order_of_a_list_counts():
    assert snapshot_of({"args": ["a", "b"]}) != snapshot_of({"args": ["b", "a"]})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_have_are_refused(number):
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json({"cpu": number})


def test_short_is_the_first_ten_hex_digits_whatever_the_prefix():
    assert [short("v1:0123456789abcdef"), short("v12:0123456789abcdef"), short("0123456789abcdef"), short("")] == [
        "0123456789",
        "0123456789",
        "0123456789",
        "",
    ]


# --- snapshots of another agent ---

ONE, TWO = snapshot_of(NGINX), snapshot_of({"a": 1})
COMPARED = {
    "equal digests": (ONE, ONE, True),
    "equal digests where one text is missing": (ONE, Snapshot(ONE.digest, ""), True),
    "different digests, both ours": (ONE, TWO, False),
    "different digests, both ours, whatever their texts say": (ONE, Snapshot(TWO.digest, ONE.text), False),
    "an unknown prefix with the same text": (ONE, Snapshot("v9:00", ONE.text), True),
    "an unknown prefix with another text": (ONE, Snapshot("v9:00", TWO.text), False),
    "two unknown prefixes with the same text": (Snapshot("v8:00", ONE.text), Snapshot("v9:00", ONE.text), True),
    "an unknown prefix without a text": (Snapshot(ONE.digest, ""), Snapshot("v9:00", ""), False),
}


@pytest.mark.parametrize("name", COMPARED)
def test_same_snapshot(name):
    one, other, same = COMPARED[name]
    assert (same_snapshot(one, other), same_snapshot(other, one)) == (same, same)


GENUINE = {
    "a snapshot as we make it": (ONE, True),
    "a text that somebody changed": (Snapshot(ONE.digest, TWO.text), False),
    "a text that is missing": (Snapshot(ONE.digest, ""), False),
    "a text that is no JSON": (Snapshot(ONE.digest, "{"), False),
    "an unknown prefix, of which we cannot tell": (Snapshot("v9:00", TWO.text), True),
}


@pytest.mark.parametrize("name", GENUINE)
def test_is_genuine(name):
    snapshot, genuine = GENUINE[name]
    assert is_genuine(snapshot) is genuine


def test_what_was_genuine_once_vouches_for_nothing_else(monkeypatch):
    remembered = set()
    monkeypatch.setattr(digests, "_GENUINE", remembered)
    monkeypatch.setattr(digests, "_MOST_REMEMBERED", 2)
    many = [snapshot_of({"spec": {"nodeName": str(number)}}) for number in range(5)]
    for one, other in pairwise(many):
        assert is_genuine(one)
        assert is_genuine(one), "asked again"
        assert not is_genuine(Snapshot(other.digest, one.text))
        assert not is_genuine(Snapshot(one.digest, other.text))
        assert not is_genuine(replace(one, configuration=USED))
        assert len(remembered) <= 2


USED = (ConfigurationRef("ConfigMap", "web", "v1:aa"), ConfigurationRef("Secret", "web", "v1:bb"))


def test_golden_with_configuration():
    text = (
        '{"configuration":[["ConfigMap","web","v1:aa"],["Secret","web","v1:bb"]],'
        '"template":{"spec":{"containers":[{"image":"nginx:1.27","name":"web"}]}}}'
    )
    digest = "v1:6110ab4a3e659c5f0a297b06abc7f4696e1eead18aebfdf4d67341f3335d0f93"
    assert digest == "v1:" + hashlib.sha256(text.encode()).hexdigest()
    made = snapshot_of(NGINX, reversed(USED))
    assert (made.digest, made.text, made.configuration) == (digest, snapshot_of(NGINX).text, USED)
    assert with_configuration(snapshot_of(NGINX), USED) == made
    assert is_genuine(made)


def test_without_configuration_a_digest_is_that_of_the_template_alone():
    assert with_configuration(snapshot_of(NGINX, USED), ()) == snapshot_of(NGINX, ()) == snapshot_of(NGINX)


OTHER_CONFIGURATION = {
    "less": USED[:1],
    "none": (),
    "other content": (replace(USED[0], digest="v1:ab"), USED[1]),
    "another name": (replace(USED[0], name="other"), USED[1]),
    "another kind": (replace(USED[0], kind="Secret"), USED[1]),
}


@pytest.mark.parametrize("name", OTHER_CONFIGURATION)
def test_other_configuration_is_another_version(name):
    used, other = snapshot_of(NGINX, USED), snapshot_of(NGINX, OTHER_CONFIGURATION[name])
    assert used.digest != other.digest
    assert not same_snapshot(used, other)
    assert not is_genuine(replace(used, configuration=other.configuration))
    assert not same_snapshot(replace(used, digest="v9:ff"), other), "also where its prefix is unknown"


def test_the_same_configuration_makes_no_other_version_whatever_algorithm_named_it():
    of_a_newer_release = Snapshot("v9:00ff", "{}", (SETTINGS,))
    assert with_configuration(of_a_newer_release, [SETTINGS]) is of_a_newer_release
    assert with_configuration(of_a_newer_release, []) == snapshot_of({})


SETTINGS = ConfigurationRef("ConfigMap", "settings", "v1:ab")


def test_the_kind_is_part_of_the_digest_and_no_digest_of_before_changes() -> None:
    web = {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    deployed, daemon = snapshot_of(web), snapshot_of(web, workload=WorkloadKind.DAEMON_SET)
    assert deployed.digest == digest_of(deployed.text)
    assert daemon.digest == "v1:9c6f57b05dfbe5dd00ef284c8c9a2f63327669381fb9776da31f184ce36159a0"
    assert not same_content(deployed, daemon)
    assert is_genuine(daemon)
    assert not is_genuine(replace(daemon, workload=WorkloadKind.REPLICA_SET))
    ref = ConfigurationRef("ConfigMap", "a", "v1:1")
    configured = with_configuration(daemon, [ref])
    assert configured.workload is WorkloadKind.DAEMON_SET
    assert configured == snapshot_of(web, [ref], WorkloadKind.DAEMON_SET)

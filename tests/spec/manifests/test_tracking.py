"""Which ConfigMaps and Secrets of a folder become part of its target, and what a broken one leaves usable."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import Source
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.app.primary import render_primary
from gitops_bg.spec.manifests.configuration import configuration_of
from tests.spec.app.test_load import SNAPSHOT, complaints
from tests.spec.app.test_primary import version
from tests.spec.texts import APP, SERVICE, TARGET, WEB, source_of

READING = (
    TARGET
    + "          envFrom:\n            - configMapRef: {name: settings}\n            - secretRef: {name: passwords}\n"
)
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [
            {
                "name": "web",
                "image": "registry.example/shop/web:1.0.0",
                "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "passwords"}}],
            }
        ]
    },
}
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n"
PASSWORDS = "apiVersion: v1\nkind: Secret\nmetadata: {name: passwords}\nstringData: {db: hunter2}\n"
OF_SETTINGS = configuration_of("ConfigMap", "settings", {"data": {"color": "blue"}})
OF_PASSWORDS = configuration_of("Secret", "passwords", {"data": {"db": "aHVudGVyMg=="}})


def load(target: str = READING, **files: str) -> AppConfig:
    contents = {"app": APP, "target": target, "service": SERVICE, **files}
    return load_app(WEB, {f"{name}.yaml": text.encode() for name, text in contents.items()}, source_of)


def test_what_the_template_refers_to_is_part_of_the_target() -> None:
    config = load(settings=SETTINGS, passwords=PASSWORDS)
    assert config.problems == ()
    assert config.target is not None
    assert config.target.snapshot == snapshot_of(TEMPLATE, (OF_SETTINGS.ref, OF_PASSWORDS.ref))
    assert config.target.source == Source("commit of target.yaml, passwords.yaml, settings.yaml")
    assert config.configuration == (OF_SETTINGS, OF_PASSWORDS)


def test_several_objects_may_stand_in_one_file() -> None:
    config = load(both=f"{SETTINGS}---\n{PASSWORDS}")
    assert config.configuration == (OF_SETTINGS, OF_PASSWORDS)
    assert config.target is not None
    assert config.target.source == Source("commit of target.yaml, both.yaml")


OFF = SETTINGS.replace("{name: settings}", "{name: settings, annotations: {gitops-bg.dev/config-tracking: disabled}}")
NO_PART: dict[str, dict[str, str]] = {
    "what is not in the folder": {},
    "what is taken out": {"settings": OFF},
    "what nothing refers to": {"other": SETTINGS.replace("settings", "other")},
    "another kind of the name": {"passwords": SETTINGS.replace("settings", "passwords")},
}


@pytest.mark.parametrize("name", NO_PART)
def test_what_is_no_part_of_the_target(name: str) -> None:
    config = load(**NO_PART[name])
    assert config.problems == ()
    assert config.configuration == ()
    assert config.target is not None
    assert config.target.snapshot == snapshot_of(TEMPLATE)
    assert config.target.source == Source("commit of target.yaml")


def test_a_target_that_refers_to_nothing_has_the_digest_it_always_had() -> None:
    config = load(TARGET, settings=SETTINGS, passwords=PASSWORDS)
    assert config.target is not None
    assert config.target.snapshot == SNAPSHOT


BROKEN = {
    "a number": (
        SETTINGS.replace("blue", "7"),
        "settings.yaml:4: data.color: expected text, found a number (put it in quotes)",
    ),
    "no YAML": ("a: [1", "settings.yaml:2: "),
    "no name": (SETTINGS.replace("name: settings", ""), "settings.yaml:3: metadata.name: "),
    "a misspelt annotation": (
        OFF.replace("disabled", "disbled"),
        "settings.yaml:3: metadata.annotations[\"gitops-bg.dev/config-tracking\"]: 'disbled' is not allowed",
    ),
    "SOPS": (SETTINGS + "sops: {mac: x}\n", "settings.yaml:5: sops: an object encrypted by SOPS cannot be used"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_target_with_broken_configuration_is_not_used(name: str) -> None:
    """Nor is it taken for one without."""
    text, complaint = BROKEN[name]
    config = load(settings=text, passwords=PASSWORDS)
    assert config.target is None
    assert config.spec is not None
    assert any(each.startswith(complaint) for each in complaints(config)), complaints(config)


def test_a_broken_manifest_that_cannot_be_what_the_target_refers_to_leaves_it_usable() -> None:
    config = load(service="a: [1", settings=SETTINGS, passwords=PASSWORDS)
    assert config.target is not None
    assert len(config.target.snapshot.configuration) == 2


def test_what_the_promoted_version_uses_is_at_hand_beside_what_the_target_uses() -> None:
    promoted = version(snapshot_of(TEMPLATE, [OF_SETTINGS.ref]), Source("9be1"))
    newer = SETTINGS.replace("blue", "green")
    config = load(primary=render_primary(WEB, promoted, [OF_SETTINGS]), settings=newer)
    assert config.problems == ()
    assert config.primary is not None
    assert config.primary.snapshot == promoted.snapshot
    assert [each.content["data"] for each in config.configuration] == [{"color": "blue"}, {"color": "green"}]


LEFT_OUT = "annotations: {gitops-bg.dev/config-tracking: disabled}"


def test_check_has_no_note_on_what_is_copied_or_left_out_on_purpose() -> None:
    files = {
        "gitops-bg.yaml": b"apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n",
        "apps/shop/web/app.yaml": APP.encode(),
        "apps/shop/web/target.yaml": READING.replace(
            "  - name: web\n", "  - name: web\n          ports: [{containerPort: 80}]\n"
        ).encode(),
        "apps/shop/web/settings.yaml": SETTINGS.encode(),
        "apps/shop/web/other.yaml": SETTINGS.replace("name: settings", f"name: other, {LEFT_OUT}").encode(),
    }
    checked = check_repository(files.items())
    assert checked.problems == []
    assert not [note for note in checked.notes if note.file.endswith(("settings.yaml", "other.yaml"))]

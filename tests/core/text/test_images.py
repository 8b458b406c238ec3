"""What images say of a version in titles: tags, else digests, else nothing; and nothing that could forge a title."""

import json

import pytest

from gitops_bg.core.foreign_json import images_in, parts_of, tags_between

ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64

PARTS = {
    "web": ("", ""),
    "web:1.0.0": ("1.0.0", ""),
    "registry.example/shop/web:1.0.0": ("1.0.0", ""),
    "localhost:5000/web": ("", ""),
    "localhost:5000/web:v1_2-rc.3": ("v1_2-rc.3", ""),
    f"web@{ONE}": ("", ONE),
    f"localhost:5000/web:1@{ONE}": ("1", ONE),
    "web:": ("", ""),
    "web:1:2": ("2", ""),
    "web:1\nBg-Event: promoted": ("", ""),
    "web:1\n": ("", ""),
    "web:-1": ("", ""),
    "web@sha256:0": ("", ""),
    "web:1@sha256:0": ("", ""),
    "": ("", ""),
}


@pytest.mark.parametrize("image", PARTS, ids=repr)
def test_tag_and_digest_of_an_image(image: str) -> None:
    assert parts_of(image) == PARTS[image]


def template(*images: str, init: tuple[str, ...] = ()) -> str:
    """A pod template with these images; the containers are called c0, c1, …"""
    listed = [{"name": f"c{place}", "image": image} for place, image in enumerate(images)]
    first = [{"name": f"i{place}", "image": image} for place, image in enumerate(init)]
    return json.dumps({"spec": {"containers": listed, **({"initContainers": first} if first else {})}})


BETWEEN = {
    "a new tag": (template("web:1.0.0"), template("web:1.1.0"), ("1.0.0", "1.1.0")),
    "the first that differs": (template("web:1", "proxy:5"), template("web:1", "proxy:6"), ("5", "6")),
    "the first of two that differ": (template("web:1", "proxy:5"), template("web:2", "proxy:6"), ("1", "2")),
    "that of an init container": (template("web:1", init=("m:1",)), template("web:1", init=("m:2",)), ("1", "2")),
    "a new container says nothing": (template("web:1"), template("web:1", "proxy:6"), ("", "")),
    "a tag that went elsewhere": (
        template(f"web:1@{ONE}"),
        template(f"web:1@{TWO}"),
        ("sha256:1111111111", "sha256:2222222222"),
    ),
    "digests alone": (template(f"web@{ONE}"), template(f"web@{TWO}"), ("sha256:1111111111", "sha256:2222222222")),
    "a tag in place of a digest": (template(f"web@{ONE}"), template("web:2"), ("sha256:1111111111", "2")),
    "a tag in place of none": (template("web"), template("web:2"), ("", "")),
    "the same tag of another name": (template("web:1"), template("shop:1"), ("", "")),
    "the same image": (template("web:1"), template("web:1"), ("", "")),
    "digests with the same start": (
        template("web@sha256:" + "1" * 60 + "2222"),
        template("web@sha256:" + "1" * 60 + "3333"),
        ("", ""),
    ),
    "only the new one is known": ("", template("web:2", "proxy:6"), ("", "2")),
    "only the old one is known": (template("web:1"), "", ("1", "")),
    "neither is known": ("", "", ("", "")),
    "the 30 characters that fit": ("", template("web:" + "a" * 30), ("", "a" * 30)),
    "a long tag is cut": ("", template("web:" + "a" * 31), ("", "a" * 29 + "…")),
    "long tags that differ only beyond the cut": (template("web:" + "a" * 40), template("web:" + "a" * 41), ("", "")),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_what_tells_two_versions_apart(name: str) -> None:
    before, after, said = BETWEEN[name]
    assert tags_between(before, after) == said


NO_TEMPLATES = (
    "",
    "{",
    "[]",
    "null",
    "{}",
    '{"spec":[]}',
    '{"spec":{"containers":["web"]}}',
    '{"spec":{"containers":7}}',
)


@pytest.mark.parametrize("text", NO_TEMPLATES)
def test_what_is_no_pod_template_has_no_images(text: str) -> None:
    assert images_in(text) == ()

"""What an image says of a version in its name: a tag, or nothing; and nothing that could forge a title."""

import json

import pytest

from gitops_bg.core.foreign_json import image_changes, images_in, parts_of, tag_of

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


TAGS = {
    "a tag": (template("web:1.1.0"), "1.1.0"),
    "that of the first container": (template("web:1", "proxy:6", init=("m:2",)), "1"),
    "a tag beside a digest": (template(f"web:1@{ONE}"), "1"),
    "a digest alone": (template(f"web@{ONE}"), ""),
    "a tag of another container only": (template("web", "proxy:6"), ""),
    "nothing is known": ("", ""),
    "the 30 characters that fit": (template("web:" + "a" * 30), "a" * 30),
    "a long tag is cut": (template("web:" + "a" * 31), "a" * 29 + "…"),
    "a line that could forge a trailer": (template("web:1\nBg-Event: promoted"), ""),
}


@pytest.mark.parametrize("name", TAGS)
def test_the_tag_by_which_people_know_a_template(name: str) -> None:
    text, tag = TAGS[name]
    assert tag_of(text) == tag


CHANGES = {
    "a new tag": (template("web:1.0.0"), template("web:1.1.0"), ["image of c0: 1.0.0 → 1.1.0"]),
    "the one of two that differs": (template("web:1", "p:5"), template("web:1", "p:6"), ["image of c1: 5 → 6"]),
    "an init container": (template("web:1", init=("m:1",)), template("web:1", init=("m:2",)), ["image of i0: 1 → 2"]),
    "a new container": (template("web:1"), template("web:1", "proxy:6"), ["image of c1: new → 6"]),
    "one that is gone": (template("web:1", "proxy:6"), template("web:1"), ["image of c1: 6 → none"]),
    "a tag that went elsewhere": (
        template(f"web:1@{ONE}"),
        template(f"web:1@{TWO}"),
        [f"image of c0: web:1@{ONE} → web:1@{TWO}"],
    ),
    "digests alone": (
        template(f"web@{ONE}"),
        template(f"web@{TWO}"),
        ["image of c0: sha256:1111111111 → sha256:2222222222"],
    ),
    "the same tag of another name": (template("web:1"), template("shop:1"), ["image of c0: web:1 → shop:1"]),
    "no tag": (template("web"), template("web:2"), ["image of c0: web → 2"]),
    "the same image": (template("web:1"), template("web:1"), []),
    "one template that nobody knows": ("", template("web:2"), []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_is_named_and_nothing_else(name: str) -> None:
    before, after, said = CHANGES[name]
    assert list(map(str, image_changes(before, after))) == said


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

"""What is an image reference and what is none: the cases of distribution/reference, and what people type by mistake."""

import pytest

from gitops_bg.spec.app.validation import trouble_with

SHA = "sha256:" + "0123456789abcdef" * 4

GOOD = [
    "web",
    "web:1.4.2",
    "shop/web:v1_2-3.4",
    "registry.example.com/shop/web:1.4.2",
    "registry.example.com:5000/shop/web",
    "localhost/web",
    "localhost:5000/web:1",
    "REGISTRY.example.com/web:1",
    "[2001:db8::1]:5000/web:1",
    "a__b/c-d/e.f--g:T",
    f"web@{SHA}",
    f"registry.example.com/web:1@{SHA}",
    "web:" + "a" * 128,
    "web:_x",
    "foo_bar.com/web".replace("_bar", "-bar"),
]

BAD = {
    "": "it has no name",
    ":1.4.2": "it has no name",
    "Web:1": "'web'?",
    "shop/Web": "lower-case",
    "web:": "the tag ''",
    "web:1.4 2": "the tag '1.4 2'",
    "web:-1": "the tag",
    "web:.1": "the tag",
    "web:" + "a" * 129: "up to 128",
    "web:1@": "the digest ''",
    "web@sha256:12": "64 hexadecimal digits",
    "web@sha256:" + "g" * 64: "64 hexadecimal digits",
    "web@sha256:" + "0" * 63: "64 hexadecimal digits",
    "https://registry.example.com/web": "the registry 'https:' is no host name",
    "registry.example.com/": "it has no name",
    "registry.example.com//web": "separators",
    "web/": "separators",
    "/web": "separators",
    "web..x": "separators",
    "web___x": "separators",
    "web-": "separators",
    "registry_.example.com/web": "no host name",
    "registry.example.com:http/web:1": "no host name",
    "wéb": "separators",
    "${IMAGE}": "separators",
    "0" * 64: "the id of an image",
    "registry.example.com/" + "a" * 250: "255 are the most",
}


@pytest.mark.parametrize("image", GOOD)
def test_a_reference_is_taken(image: str) -> None:
    assert trouble_with(image) == ""


@pytest.mark.parametrize("image", BAD, ids=lambda image: image[:40] or "nothing")
def test_what_is_none_is_refused_with_what_would_be_right(image: str) -> None:
    assert BAD[image] in trouble_with(image)

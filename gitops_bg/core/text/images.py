"""What the images of pod templates call a version: tags, as people read them in titles. Pure.

Tags are what an author wrote. Only what the grammar of image references allows is taken over, so that nothing can pass
for a line of a commit message.
"""

import re
from functools import lru_cache
from typing import Any

from gitops_bg.core.text.foreign_json import NotJson, read_json

_LONGEST = 30
_PARTS = re.compile(r"[^@]*?(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]*))?(?:@(?P<digest>[a-z0-9]+:[0-9a-f]{32,}))?")


def parts_of(image: str) -> tuple[str, str]:
    """The tag and the digest of an image reference; each empty where there is none.

    >>> parts_of("localhost:5000/web:1.4@sha256:" + "0" * 64)[0], parts_of("localhost:5000/web")
    ('1.4', ('', ''))
    """
    found = _PARTS.fullmatch(image.rpartition("/")[2])
    return (found["tag"] or "", found["digest"] or "") if found else ("", "")


def tags_between(before: str, after: str) -> tuple[str, str]:
    """What tells two pod templates (JSON; empty: unknown) apart in the images of people: two tags, or both empty.

    The first image that differs speaks, the first container's where only one template is known. Where its tags are the
    same, their digests do; where nothing does, only the numbers of the versions tell them apart.

    >>> tags_between('{"spec":{"containers":[{"image":"web:1"}]}}', '{"spec":{"containers":[{"image":"web:2"}]}}')
    ('1', '2')
    """
    old, new = images_in(before), images_in(after)
    if not (old and new):
        (_, *one), (_, *other) = (next(iter(images), ("", "", "")) for images in (old, new))
        return _shown(*one), _shown(*other)
    left = {name: image for name, *image in old}
    pairs = ((left[name], image) for name, *image in new if name in left and left[name] != image)
    moved = next(pairs, None)
    if moved is None:
        return "", ""
    shown = [_shown(*image) for image in moved]
    if shown[0] == shown[1]:
        shown = [_shown("", digest) for _, digest in moved]
    return (shown[0], shown[1]) if all(shown) and shown[0] != shown[1] else ("", "")


@lru_cache(maxsize=256)
def images_in(template: str) -> tuple[tuple[str, str, str], ...]:
    """The name, the tag and the digest of each container of a pod template, those of init containers last; none for
    what is no pod template.
    """
    try:
        spec: Any = read_json(template)["spec"] if template else {}
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        return tuple((str(each.get("name")), *parts_of(str(each.get("image")))) for each in containers)
    except (NotJson, LookupError, AttributeError, TypeError):
        return ()


def _shown(tag: str, digest: str) -> str:
    """A tag, else the start of a digest."""
    text = tag or ":".join(part[:10] for part in digest.partition(":")[::2] if part)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

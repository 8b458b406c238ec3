"""An OCI layout: images, charts and signatures as files by their digest, and how they get into a registry.

Every artifact has a name and a tag, `gitops-bg:0.1.0`. What belongs to another artifact has its digest as its tag, in
the way of cosign: `sha256-….sig`, `sha256-….att`.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
_NAME = "org.opencontainers.image.ref.name"

Descriptor = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """A folder that is an OCI layout."""

    folder: Path

    def add_file(self, path: Path, media_type: str, annotations: Mapping[str, str] | None = None) -> Descriptor:
        """Take a file in as a blob; the file is there no longer."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = path.stat().st_size
        self._blobs.mkdir(parents=True, exist_ok=True)
        shutil.move(path, self._blobs / digest)
        return _descriptor(media_type, digest, size, annotations)

    def add(self, content: bytes, media_type: str, annotations: Mapping[str, str] | None = None) -> Descriptor:
        """Write a blob."""
        digest = hashlib.sha256(content).hexdigest()
        self._blobs.mkdir(parents=True, exist_ok=True)
        (self._blobs / digest).write_bytes(content)
        return _descriptor(media_type, digest, len(content), annotations)

    def add_manifest(
        self, config: Descriptor, layers: Sequence[Descriptor], annotations: Mapping[str, str]
    ) -> Descriptor:
        """Write the manifest of an image, or of an artifact."""
        body = {"config": config, "layers": list(layers), "annotations": dict(annotations)}
        return self.add(canonical({"schemaVersion": 2, "mediaType": MANIFEST} | body), MANIFEST)

    def add_index(self, manifests: Sequence[Descriptor], annotations: Mapping[str, str]) -> Descriptor:
        """Write the index of one image for several platforms."""
        body = {"manifests": list(manifests), "annotations": dict(annotations)}
        return self.add(canonical({"schemaVersion": 2, "mediaType": INDEX} | body), INDEX)

    def publish_as(self, name: str, descriptor: Descriptor) -> None:
        """Give an artifact its name and tag."""
        others = [each for each in self.artifacts() if each["annotations"][_NAME] != name]
        named = {**descriptor, "annotations": {_NAME: name}}
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [*others, named]}
        (self.folder / "index.json").write_bytes(canonical(index))
        (self.folder / "oci-layout").write_bytes(canonical({"imageLayoutVersion": "1.0.0"}))

    def artifacts(self) -> list[Descriptor]:
        """Return what has a name and a tag."""
        index = self.folder / "index.json"
        return json.loads(index.read_bytes())["manifests"] if index.is_file() else []

    def named(self) -> dict[str, str]:
        """Return the digest of each artifact, by name and tag."""
        return {each["annotations"][_NAME]: each["digest"] for each in self.artifacts()}

    def read(self, digest: str) -> bytes:
        """Return the content of a blob."""
        return (self._blobs / digest.removeprefix("sha256:")).read_bytes()

    @property
    def _blobs(self) -> Path:
        return self.folder / "blobs" / "sha256"


def canonical(value: object) -> bytes:
    """Return a value as JSON that is the same each time."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry. Images and charts are below a place in it, such as `registry.example/tools`."""

    _http: httpx.Client
    _scheme: str

    @classmethod
    @contextmanager
    def connect(cls, *, plain: bool, user: str, secret: str) -> Iterator["Registry"]:
        """Connect, with a name and a password or a token where there is one."""
        with httpx.Client(auth=_Bearer(user, secret), timeout=120) as http:
            yield cls(http, "http" if plain else "https")

    def push(self, layout: Layout, place: str) -> Iterator[str]:
        """Bring every artifact of a layout in; yields each name and tag with its digest once it is there.

        A tag that is there with another digest is refused, before anything is pushed: a release is never changed. So is
        what the registry does not say of a tag.
        """
        host, _, folder = place.partition("/")
        wanted = {name: each for each in layout.artifacts() for name in [each["annotations"][_NAME]]}
        bases = {
            name: f"{self._scheme}://{host}/v2/{f'{folder}/{name}'.strip('/')}".rpartition(":")[0] for name in wanted
        }
        for name, each in wanted.items():
            tag = f"{bases[name]}/manifests/{name.rpartition(':')[2]}"
            there = self._http.head(tag, headers={"Accept": each["mediaType"]})
            if there.status_code == httpx.codes.NOT_FOUND:
                continue
            if (has := there.raise_for_status().headers["Docker-Content-Digest"]) != each["digest"]:
                raise FileExistsError(f"{place}/{name} is {has}, and here {each['digest']}: take a new version")
        for name, each in wanted.items():
            self._push_manifest(layout, bases[name], each, name.rpartition(":")[2])
            yield f"{place}/{name}@{each['digest']}"

    def _push_manifest(self, layout: Layout, base: str, described: Descriptor, reference: str) -> None:
        """Push what a manifest refers to, then itself."""
        content = layout.read(described["digest"])
        manifest = json.loads(content)
        for each in manifest.get("manifests", ()):
            self._push_manifest(layout, base, each, each["digest"])
        for each in (manifest["config"], *manifest["layers"]) if "config" in manifest else ():
            self._push_blob(layout, base, each["digest"])
        headers = {"Content-Type": described["mediaType"]}
        self._http.put(f"{base}/manifests/{reference}", content=content, headers=headers).raise_for_status()

    def _push_blob(self, layout: Layout, base: str, digest: str) -> None:
        if self._http.head(f"{base}/blobs/{digest}").is_success:
            return
        begun = self._http.post(f"{base}/blobs/uploads/").raise_for_status()
        place = begun.url.join(begun.headers["Location"]).copy_merge_params({"digest": digest})
        headers = {"Content-Type": "application/octet-stream"}
        self._http.put(place, content=layout.read(digest), headers=headers).raise_for_status()


class _Bearer(httpx.Auth):
    """A token from where the registry says, as registries ask for it: anew where one is refused."""

    requires_response_body = True

    def __init__(self, user: str, secret: str) -> None:
        self._known = (user, secret) if user else None
        self._token = ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Answer a refusal once."""
        if self._token:
            request.headers["Authorization"] = self._token
        answer = yield request
        if answer.status_code != httpx.codes.UNAUTHORIZED:
            return
        asked = dict(re.findall(r'(\w+)="([^"]*)"', answer.headers.get("WWW-Authenticate", "")))
        basic = httpx.BasicAuth(*self._known) if self._known else None
        if "realm" not in asked or answer.headers["WWW-Authenticate"].lower().startswith("basic"):
            if basic:
                yield from basic.auth_flow(request)
            return
        wanted = httpx.Request("GET", asked.pop("realm"), params=asked)
        told = yield next(basic.auth_flow(wanted)) if basic else wanted
        said = told.json()
        self._token = f"Bearer {said.get('token') or said.get('access_token')}"
        request.headers["Authorization"] = self._token
        yield request


def _descriptor(media_type: str, digest: str, size: int, annotations: Mapping[str, str] | None) -> Descriptor:
    found: Descriptor = {"mediaType": media_type, "digest": f"sha256:{digest}", "size": size}
    return found | ({"annotations": dict(annotations)} if annotations else {})

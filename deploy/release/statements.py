"""What is said about the artifacts of a release, in the formats of others: what they consist of (CycloneDX), how they
came about (SLSA provenance, an in-toto statement), and by whom (signatures that cosign verifies).

A signature is ECDSA on P-256 with SHA-256, made as RFC 6979 says: the same each time.
"""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deploy.release.archives import sha256
from deploy.release.oci import Descriptor, Layout, canonical
from deploy.release.packages import DebianPackage
from deploy.release.source import IMAGE, Refused, Source

PROVENANCE = "https://slsa.dev/provenance/v1"
SBOM = "https://cyclonedx.org/bom"
_IN_TOTO = "application/vnd.in-toto+json"
_ENVELOPE = "application/vnd.dsse.envelope.v1+json"
_SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_SIGNATURE = "dev.cosignproject.cosign/signature"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """Signs. Its private part must never be printed."""

    _private: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, path: Path) -> "Key":
        """Read a key from a PEM file without a passphrase."""
        key = serialization.load_pem_private_key(path.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
            raise Refused(
                f"{path} is no ECDSA key on P-256: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"
            )
        return cls(key)

    def sign(self, content: bytes) -> str:
        """Return the signature, in base64."""
        algorithm = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
        return base64.b64encode(self._private.sign(content, algorithm)).decode()

    def public(self) -> bytes:
        """Return what others verify with, as PEM."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self._private.public_key().public_bytes(serialization.Encoding.PEM, form)


def envelope(key: Key, statement: Json) -> bytes:
    """Return a signed statement, as DSSE."""
    payload = canonical(statement)
    signed = b"DSSEv1 %d %s %d %s" % (len(_IN_TOTO), _IN_TOTO.encode(), len(payload), payload)
    signatures = [{"keyid": "", "sig": key.sign(signed)}]
    body = {"payloadType": _IN_TOTO, "payload": base64.b64encode(payload).decode(), "signatures": signatures}
    return canonical(body)


def statement(subjects: Mapping[str, str], kind: str, predicate: Json) -> Json:
    """Return an in-toto statement about artifacts, which are given with their SHA-256."""
    about = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(subjects.items())]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": about,
        "predicateType": kind,
        "predicate": predicate,
    }


def provenance(source: Source, builder: str, debian: Sequence[DebianPackage]) -> Json:
    """Return how the artifacts of a release came about: of which commit, of which packages, and who built them."""
    locks = sorted((source.folder / ".ci/lock").glob("*.txt"))
    used = [
        {"uri": f"git+{source.url}@refs/tags/v{source.version}", "digest": {"gitCommit": source.commit}},
        *({"uri": f"{source.url}/.ci/lock/{lock.name}", "digest": {"sha256": sha256(lock)}} for lock in locks),
        *({"uri": each.purl, "digest": {"sha256": each.sha256}} for each in debian),
    ]
    return {
        "buildDefinition": {
            "buildType": f"{source.url}/blob/v{source.version}/deploy/release",
            "externalParameters": {"version": source.version, "registry": source.registry, "url": source.url},
            "resolvedDependencies": used,
        },
        "runDetails": {"builder": {"id": builder}, "metadata": {"finishedOn": source.created}},
    }


def bill_of_python(source: Source, lock: str) -> Json:
    """Return what a lock file has, as CycloneDX."""
    tool = Path(sys.executable).with_name("cyclonedx-py")
    options = ["--pyproject", "pyproject.toml", "--mc-type", "application", "--output-reproducible"]
    command = [str(tool), "requirements", *options, f".ci/lock/{lock}"]
    done = subprocess.run(command, cwd=source.folder, capture_output=True, check=True)
    found: Json = json.loads(done.stdout)
    return found


def bill_of_image(python: Json, debian: Sequence[DebianPackage]) -> Json:
    """Return what the image has: Debian's packages beside those of Python."""
    more = [
        {
            "type": "library",
            "bom-ref": each.purl,
            "name": each.fields["Package"],
            "version": each.fields["Version"],
            "purl": each.purl,
            "hashes": [{"alg": "SHA-256", "content": each.sha256}],
        }
        for each in debian
    ]
    return {**python, "components": [*python["components"], *more]}


def bill_of_chart(source: Source, image: str) -> Json:
    """Return what the chart installs: the image."""
    name = source.published(IMAGE)
    purl = f"pkg:oci/gitops-bg@{image}?repository_url={name}&tag={source.version}"
    component = {"type": "container", "bom-ref": purl, "name": name, "version": source.version, "purl": purl}
    about = {"component": {"type": "application", "bom-ref": "chart", "name": "gitops-bg", "version": source.version}}
    form = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return {**form, "metadata": about, "components": [component]}


def sign_artifact(
    key: Key, layout: Layout, name: str, published: str, artifact: Descriptor, said: Mapping[str, Json]
) -> None:
    """Put beside an artifact of a layout what cosign looks for: its signature, and what is said about it, by kind.

    It is published by its whole name; ``name`` is the one that it has in the layout.
    """
    digest = str(artifact["digest"])
    place = f"{name}:{digest.replace(':', '-')}"
    identity = {"identity": {"docker-reference": published}, "image": {"docker-manifest-digest": digest}}
    payload = canonical({"critical": {**identity, "type": "cosign container image signature"}, "optional": None})
    signature = layout.add(payload, _SIMPLE_SIGNING, {_SIGNATURE: key.sign(payload)})
    layout.publish_as(f"{place}.sig", _artifact(layout, [signature]))
    subject = {published: digest.removeprefix("sha256:")}
    attested = [_attestation(key, layout, statement(subject, *each)) for each in said.items()]
    layout.publish_as(f"{place}.att", _artifact(layout, attested))


def _attestation(key: Key, layout: Layout, said: Json) -> Descriptor:
    notes = {_SIGNATURE: "", "predicateType": said["predicateType"]}
    return layout.add(envelope(key, said), _ENVELOPE, notes)


def _artifact(layout: Layout, layers: Sequence[Descriptor]) -> Descriptor:
    digests = [each["digest"] for each in layers]
    config = {"architecture": "", "os": "", "config": {}, "rootfs": {"type": "layers", "diff_ids": digests}}
    return layout.add_manifest(layout.add(canonical(config), _CONFIG), layers, {})


def checksums(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of SHA256SUMS, as `sha256sum --check` reads them."""
    yield from (f"{sha256(each)}  {each.name}\n" for each in sorted(paths, key=lambda path: path.name))

"""Makes a release in a folder: each artifact, then what is said about all of them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from deploy.release import image, programs
from deploy.release.archives import members_below, sha256, write_tarball
from deploy.release.oci import Descriptor, Layout, canonical
from deploy.release.source import CHART, EVERYTHING, IMAGE, Refused, Scope, Source, notes
from deploy.release.statements import (
    PROVENANCE,
    SBOM,
    Json,
    Key,
    bill_of_chart,
    bill_of_image,
    bill_of_python,
    checksums,
    envelope,
    provenance,
    sign_artifact,
    statement,
)

_CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_CHART_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def build(source: Source, folder: Path, key: Key | None, builder: str, scope: Scope = EVERYTHING) -> None:
    """Make a release in a new folder. Without a key nothing is signed."""
    if folder.exists():
        raise Refused(f"{folder} is there already; remove it first")
    text = notes(source)
    folder.mkdir(parents=True)
    layout = Layout(folder / "oci")
    (folder / "notes.md").write_text(text)
    wheel = _distributions(source, folder)
    archives = {each: programs.build(source, wheel, folder, each, scope) for each in scope.platforms}
    (folder / "bg.krew.yaml").write_text(programs.krew_manifest(source, archives))
    (folder / "gitops-bg.rb").write_text(programs.brew_formula(source, archives))
    built = image.build(source, wheel, layout, scope)
    layout.publish_as(f"{IMAGE}:{source.version}", built.descriptor)
    chart = _chart(source, folder, layout)
    layout.publish_as(f"{CHART}:{source.version}", chart)
    debian = [each for packages in built.debian.values() for each in packages]
    bills = {
        "python": bill_of_python(source, "image.txt"),
        "image": bill_of_image(bill_of_python(source, "image-with-extras.txt"), debian),
        "chart": bill_of_chart(source, built.descriptor["digest"]),
    }
    for what, bill in bills.items():
        (folder / f"gitops-bg-{source.version}-{what}.cdx.json").write_bytes(canonical(bill) + b"\n")
    origin = provenance(source, builder, debian)
    if key:
        for name, artifact in ((IMAGE, built.descriptor), (CHART, chart)):
            bill = bills["chart" if name == CHART else "image"]
            sign_artifact(key, layout, name, source.published(name), artifact, {SBOM: bill, PROVENANCE: origin})
    _conclude(source, folder, key, origin, {IMAGE: built.descriptor, CHART: chart})


def _distributions(source: Source, folder: Path) -> Path:
    """Return the sdist and the wheel, by hatchling, which writes the same bytes for the same date."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder.resolve())]
    kept = os.environ | {"SOURCE_DATE_EPOCH": str(source.date)}
    done = subprocess.run(command, cwd=source.folder, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"hatchling failed: {done.stderr.strip()}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def _chart(source: Source, folder: Path, layout: Layout) -> Descriptor:
    """Return the chart as a file, and as the artifact that `helm install oci://…` takes."""
    path = folder / f"gitops-bg-{source.version}.tgz"
    write_tarball(path, members_below(source.folder / "deploy/chart", "gitops-bg/"), source.date)
    about = yaml.safe_load((source.folder / "deploy/chart/Chart.yaml").read_bytes())
    content = layout.add(path.read_bytes(), _CHART_CONTENT)
    labels = {**image.labels(source), "org.opencontainers.image.description": about["description"]}
    return layout.add_manifest(layout.add(canonical(about), _CHART_CONFIG), [content], labels)


def _conclude(source: Source, folder: Path, key: Key | None, origin: Json, artifacts: Mapping[str, Descriptor]) -> None:
    """Write provenance and checksums of everything, and sign them."""
    files = [path for path in folder.iterdir() if path.is_file()]
    subjects = {path.name: sha256(path) for path in files}
    subjects |= {source.published(name): each["digest"].removeprefix("sha256:") for name, each in artifacts.items()}
    if key:
        signed = folder / f"gitops-bg-{source.version}.intoto.jsonl"
        signed.write_bytes(envelope(key, statement(subjects, PROVENANCE, origin)) + b"\n")
        (folder / "cosign.pub").write_bytes(key.public())
        files += [signed]
    sums = folder / "SHA256SUMS"
    sums.write_text("".join(checksums(files)))
    if key:
        (folder / "SHA256SUMS.sig").write_text(key.sign(sums.read_bytes()) + "\n")

#!/usr/bin/env bash
# Provides what a release is held to in tests, compiled by the ordinary go command from its Go modules: crane, which has a
# registry; cosign, which verifies signatures; krew, which installs plugins of kubectl.
#
#   build.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/release-tools
#
# Prints DIR, for GITOPS_BG_RELEASE_TOOLS. In it: bin/crane, bin/cosign and bin/krew, 130 MB. Needs go 1.26 or newer. The first
# time takes about six minutes on two idle cores, downloads included, nearly all of it for cosign, and is instant after that.
# Safe to call from several shells at once: the first builds, the others wait.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../building.sh"
dir=${1:-$HOME/.cache/gitops-bg/release-tools}

build() {
  go -C "$here" build -trimpath -ldflags '-s -w' -o "$1/" github.com/google/go-containerregistry/cmd/crane
  # Apart: it takes a client of Kubernetes that cosign cannot take.
  go -C "$here/krew" build -trimpath -ldflags '-s -w' -o "$1/" sigs.k8s.io/krew/cmd/krew
  go -C "$here" build -trimpath -ldflags '-s -w' -o "$1/" github.com/sigstore/cosign/v3/cmd/cosign
}

provide_built "crane, krew and cosign" "$(cat "$here/go.sum" "$here/krew/go.sum" | cksum)" crane krew cosign
echo "$dir"

#!/usr/bin/env bash
# Provides real helm for tests, compiled by the ordinary go command from its Go module.
#
#   build.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/helm
#
# Prints DIR, for GITOPS_BG_HELM. In it: bin/helm, 60 MB. Needs go 1.26 or newer. The first time takes about three minutes
# on two idle cores, downloads included, and is instant after that. Safe to call from several shells at once: the first
# builds, the others wait. An unfinished build leaves nothing behind but Go's own caches, from which the next goes on.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../building.sh"
dir=${1:-$HOME/.cache/gitops-bg/helm}

build() {
  cd "$here"
  go build -trimpath -ldflags '-s -w' -o "$1/helm" helm.sh/helm/v4/cmd/helm
}

provide_built helm "$(cksum <"$here/go.sum")" helm
echo "$dir"

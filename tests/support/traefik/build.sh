#!/usr/bin/env bash
# Provides a real implementation of the Gateway API for tests: Traefik, compiled by the ordinary go command from its Go
# module.
#
#   build.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/traefik
#
# Prints DIR, for GITOPS_BG_TRAEFIK. In it: bin/traefik, 160 MB. Needs go 1.24 or newer. The first time takes about five
# minutes on two idle cores, downloads included, and is instant after that. Safe to call from several shells at once: the
# first builds, the others wait. An unfinished build leaves nothing behind but Go's own caches, from which the next goes on.
#
# go.mod beside this file requires Traefik as a tool, with Traefik's own replacements: `go install` of another module
# ignores them. Why not a newer release: from 3.1 on it watches EndpointSlices of discovery.k8s.io/v1, which the control
# plane of the tests (1.20) does not have.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../building.sh"
dir=${1:-$HOME/.cache/gitops-bg/traefik}

build() {
  cd "$here"
  go build -trimpath -ldflags '-s -w' -o "$1/traefik" github.com/traefik/traefik/v3/cmd/traefik
}

provide_built Traefik "$(cksum <"$here/go.sum")" traefik
echo "$dir"

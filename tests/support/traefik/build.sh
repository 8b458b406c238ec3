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
dir=${1:-$HOME/.cache/gitops-bg/traefik}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

wanted=$(cksum <"$here/go.sum")
if [[ -x $dir/bin/traefik && -f $dir/version && $(cat "$dir/version") == "$wanted" ]]; then
  echo "$dir"
  exit 0
fi

log=$dir/build.log
echo "building Traefik; log: $log" >&2
if ! (
  set -e
  command -v go >/dev/null || { echo "go is not installed"; exit 1; }
  rm -rf "$dir"/work.*
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cd "$here"
  # The lock is this script's: what it starts must not keep it where the script is killed.
  GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0 GOTMPDIR=$work go build -trimpath -ldflags '-s -w' \
    -o "$work/traefik" github.com/traefik/traefik/v3/cmd/traefik 9>&-
  mkdir -p "$dir/bin"
  install -m 755 "$work/traefik" "$dir/bin/traefik.new"
  mv "$dir/bin/traefik.new" "$dir/bin/traefik"
  echo "$wanted" >"$dir/version"
) >"$log" 2>&1; then
  echo "the build failed; the end of $log:" >&2
  tail -n 20 "$log" >&2
  exit 1
fi
echo "$dir"

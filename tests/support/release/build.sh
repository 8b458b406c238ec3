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
dir=${1:-$HOME/.cache/gitops-bg/release-tools}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

wanted=$(cat "$here/go.sum" "$here/krew/go.sum" | cksum)
if [[ -f $dir/version && $(cat "$dir/version") == "$wanted" ]]; then
  echo "$dir"
  exit 0
fi

log=$dir/build.log
echo "building crane, krew and cosign; log: $log" >&2
if ! (
  command -v go >/dev/null || { echo "go is not installed"; exit 1; }
  rm -rf "$dir"/work.*
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # The lock is this script's: what it starts must not keep it where the script is killed.
  build() { # FOLDER-OF-GO.MOD PROGRAM
    (cd "$1" && GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0 GOTMPDIR=$work go build -trimpath -ldflags '-s -w' \
      -o "$work/bin/" "$2" 9>&-)
  }
  build "$here" github.com/google/go-containerregistry/cmd/crane || exit 1
  build "$here/krew" sigs.k8s.io/krew/cmd/krew || exit 1  # apart: it takes a client of Kubernetes that cosign cannot take
  build "$here" github.com/sigstore/cosign/v3/cmd/cosign || exit 1
  mkdir -p "$dir/bin"
  mv "$work"/bin/* "$dir/bin/" || exit 1
  echo "$wanted" >"$dir/version"
) >"$log" 2>&1; then
  echo "the build failed; the end of $log:" >&2
  tail -n 20 "$log" >&2
  exit 1
fi
echo "$dir"

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
dir=${1:-$HOME/.cache/gitops-bg/helm}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

wanted=$(cksum <"$here/go.sum")
if [[ -x $dir/bin/helm && -f $dir/version && $(cat "$dir/version") == "$wanted" ]]; then
  echo "$dir"
  exit 0
fi

log=$dir/build.log
echo "building helm; log: $log" >&2
if ! (
  set -e
  command -v go >/dev/null || { echo "go is not installed"; exit 1; }
  rm -rf "$dir"/work.*
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cd "$here"
  # The lock is this script's: what it starts must not keep it where the script is killed.
  GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0 GOTMPDIR=$work go build -trimpath -ldflags '-s -w' \
    -o "$work/helm" helm.sh/helm/v4/cmd/helm 9>&-
  mkdir -p "$dir/bin"
  install -m 755 "$work/helm" "$dir/bin/helm.new"
  mv "$dir/bin/helm.new" "$dir/bin/helm"
  echo "$wanted" >"$dir/version"
) >"$log" 2>&1; then
  echo "the build failed; the end of $log:" >&2
  tail -n 20 "$log" >&2
  exit 1
fi
echo "$dir"

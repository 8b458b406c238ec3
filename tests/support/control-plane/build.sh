#!/usr/bin/env bash
# Provides a current Kubernetes control plane for tests: etcd, kube-apiserver and kube-controller-manager of the releases
# that go.mod beside this file requires, compiled by the ordinary go command from their Go modules.
#
#   build.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/control-plane-current
#
# Prints DIR/bin, for KUBEBUILDER_ASSETS; 200 MB. Needs go 1.26 or newer. The first time takes about seven minutes on two
# idle cores, downloads included, and is instant after that. Safe to call from several shells at once: the first builds,
# the others wait. An unfinished build leaves nothing behind but Go's own caches, from which the next goes on.
#
# A newer release: write its version in go.mod, at k8s.io/kubernetes and (v0.x.y) at each replacement, and the etcd of its
# go.mod; then `go mod tidy`.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:-$HOME/.cache/gitops-bg/control-plane-current}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

wanted=$(cksum <"$here/go.sum")
if [[ -x $dir/bin/etcd && -x $dir/bin/kube-apiserver && -x $dir/bin/kube-controller-manager &&
  -f $dir/version && $(cat "$dir/version") == "$wanted" ]]; then
  echo "$dir/bin"
  exit 0
fi

log=$dir/build.log
echo "building the current control plane, about seven minutes; log: $log" >&2
if ! (
  set -e
  command -v go >/dev/null || { echo "go is not installed"; exit 1; }
  rm -rf "$dir"/work.*
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cd "$here"
  export GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0 GOTMPDIR=$work
  # What it says of itself at /version; without it, v0.0.0-master.
  release=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${release#v}"
  stamp=k8s.io/component-base/version
  # The lock is this script's: what it starts must not keep it where the script is killed.
  go build -trimpath -tags grpcnotrace -o "$work/" \
    -ldflags "-s -w -X $stamp.gitVersion=$release -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor" \
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager 9>&-
  go build -trimpath -tags grpcnotrace -o "$work/etcd" -ldflags '-s -w' go.etcd.io/etcd/server/v3 9>&-
  mkdir -p "$dir/bin"
  rm -f "$dir/version"
  for name in etcd kube-apiserver kube-controller-manager; do
    install -m 755 "$work/$name" "$dir/bin/$name.new"
    mv "$dir/bin/$name.new" "$dir/bin/$name"
  done
  echo "$wanted" >"$dir/version"
) >"$log" 2>&1; then
  echo "the build failed; the end of $log:" >&2
  tail -n 20 "$log" >&2
  exit 1
fi
echo "$dir/bin"

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
. "$here/../building.sh"
dir=${1:-$HOME/.cache/gitops-bg/control-plane-current}

build() {
  cd "$here"
  # What it says of itself at /version; without it, v0.0.0-master.
  local release major minor stamp=k8s.io/component-base/version
  release=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${release#v}"
  go build -trimpath -tags grpcnotrace -o "$1/" \
    -ldflags "-s -w -X $stamp.gitVersion=$release -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor" \
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager
  go build -trimpath -tags grpcnotrace -o "$1/etcd" -ldflags '-s -w' go.etcd.io/etcd/server/v3
}

provide_built "the current control plane, about seven minutes" "$(cksum <"$here/go.sum")" \
  etcd kube-apiserver kube-controller-manager
echo "$dir/bin"

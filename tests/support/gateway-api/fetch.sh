#!/usr/bin/env bash
# Provides the CustomResourceDefinition of GRPCRoute for tests, from the Gateway API's own Go module.
#
#   fetch.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/gateway-api
#
# Prints DIR, for GITOPS_BG_GATEWAY_API. In it: the definitions as the project publishes them, 1 MB. Needs go. Takes a few
# seconds, and none after that. Safe to call from several shells at once.
set -euo pipefail

version=v1.4.0 # The release of the other definitions that the tests use.
dir=${1:-$HOME/.cache/gitops-bg/gateway-api}/$version
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

if [[ ! -f $dir/gateway.networking.k8s.io_grpcroutes.yaml ]]; then
  command -v go >/dev/null || { echo "go is not installed" >&2; exit 1; }
  module=$(cd "$dir" && GOWORK=off go mod download -json "sigs.k8s.io/gateway-api@$version" |
    sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  install -m 644 "$module"/config/crd/standard/gateway.networking.k8s.io_*.yaml "$dir/"
fi
echo "$dir"

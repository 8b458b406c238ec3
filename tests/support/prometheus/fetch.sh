#!/usr/bin/env bash
# Provides real Prometheus and promtool for tests, from Debian's package, unpacked and not installed.
#
#   fetch.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/prometheus
#
# Prints DIR, for GITOPS_BG_PROMETHEUS. In it: bin/prometheus and bin/promtool, 190 MB. Needs apt-get, and no rights. Takes a
# few seconds, and none after that. Safe to call from several shells at once.
set -euo pipefail

dir=${1:-$HOME/.cache/gitops-bg/prometheus}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

if [[ ! -x $dir/bin/prometheus || ! -x $dir/bin/promtool ]]; then
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "there is no apt-get to fetch prometheus" >&2; exit 1; }
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && apt-get -qq download prometheus >"$dir/fetch.log" 2>&1) || { cat "$dir/fetch.log" >&2; exit 1; }
  dpkg -x "$work"/prometheus_*.deb "$work/unpacked"
  mkdir -p "$dir/bin"
  mv "$work/unpacked/usr/bin/prometheus" "$work/unpacked/usr/bin/promtool" "$dir/bin/"
fi
echo "$dir"

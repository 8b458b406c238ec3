#!/usr/bin/env bash
# Provides a real sshd for tests, from Debian's packages, unpacked and not installed.
#
#   fetch.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/openssh
#
# Prints DIR, for GITOPS_BG_OPENSSH. In it: bin/sshd, and in lib/ what it needs beyond what the client has: libwrap, and
# nss_wrapper, which knows the user sshd where nobody installed it. Needs apt-get, and no rights. Takes a few seconds, and
# none after that. Safe to call from several shells at once.
set -euo pipefail

dir=${1:-$HOME/.cache/gitops-bg/openssh}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

if [[ ! -x $dir/bin/sshd ]]; then
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "there is no apt-get to fetch sshd" >&2; exit 1; }
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && apt-get -qq download openssh-server libwrap0 libnss-wrapper >"$dir/fetch.log" 2>&1) || { cat "$dir/fetch.log" >&2; exit 1; }
  for package in "$work"/*.deb; do dpkg -x "$package" "$work/unpacked"; done
  mkdir -p "$dir/bin" "$dir/lib"
  mv "$work"/unpacked/usr/lib/*/libwrap.so.0* "$work"/unpacked/usr/lib/*/libnss_wrapper.so "$dir/lib/"
  mv "$work/unpacked/usr/sbin/sshd" "$dir/bin/"
fi
echo "$dir"

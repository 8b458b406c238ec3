#!/usr/bin/env bash
# Provides a certified OpenID provider for tests: oidc-provider, from npm.
#
#   fetch.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/openid
#
# Prints DIR, for GITOPS_BG_OPENID. In it: provider.mjs and what it needs, 4 MB. Needs node and npm, and no rights. Takes a
# few seconds, and none after that. Safe to call from several shells at once.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$HOME/.cache/gitops-bg/openid}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

if ! cmp -s "$here/package-lock.json" "$dir/package-lock.json" || [[ ! -d $dir/node_modules/oidc-provider ]]; then
  command -v npm >/dev/null || { echo "there is no npm to fetch oidc-provider" >&2; exit 1; }
  cp "$here/package.json" "$dir/"
  cp "$here/package-lock.json" "$dir/package-lock.json.new"
  mv "$dir/package-lock.json.new" "$dir/package-lock.json"
  (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund >"$dir/fetch.log" 2>&1) || {
    cat "$dir/fetch.log" >&2
    rm -f "$dir/package-lock.json"
    exit 1
  }
fi
cp "$here/provider.mjs" "$dir/"
echo "$dir"

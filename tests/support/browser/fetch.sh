#!/usr/bin/env bash
# Provides what drives a real browser in tests of the dashboard: Playwright from the package index, and axe-core, which
# looks for what people with disabilities cannot use, from npm's.
#
#   fetch.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/browser
#
# Prints DIR, for GITOPS_BG_BROWSER. In it: python/ and axe.min.js, 170 MB. Needs python3 with pip, npm, and Debian's
# chromium (apt-get install chromium), or another one that GITOPS_BG_CHROMIUM names. Takes half a minute, and none after
# that. Safe to call from several shells at once.
set -euo pipefail

playwright=1.65.2 axe=4.14.1
dir=${1:-$HOME/.cache/gitops-bg/browser}/$playwright-$axe
[[ -x ${GITOPS_BG_CHROMIUM:-/usr/bin/chromium} ]] || { echo "there is no chromium: apt-get install chromium" >&2; exit 1; }
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

if [[ ! -f $dir/axe.min.js ]]; then
  command -v npm >/dev/null || { echo "npm is not installed" >&2; exit 1; }
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  {
    python3 -m pip install --quiet --target "$work/python" "playwright==$playwright"
    (cd "$work" && npm pack --silent "axe-core@$axe" && tar -xzf axe-core-*.tgz package/axe.min.js)
  } >"$dir/fetch.log" 2>&1 9>&- || { tail -n 20 "$dir/fetch.log" >&2; exit 1; }
  rm -rf "$dir/python"
  mv "$work/python" "$dir/python"
  mv "$work/package/axe.min.js" "$dir/axe.min.js"
fi
echo "$dir"

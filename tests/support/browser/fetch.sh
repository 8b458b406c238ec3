#!/usr/bin/env bash
# Provides what looks at the dashboard in tests: Debian's Chromium, unpacked and not installed; Playwright from the package
# index, which drives it; and axe-core from npm's, which looks for what people with disabilities cannot use.
#
#   fetch.sh [DIR]      DIR defaults to ~/.cache/gitops-bg/browser
#
# Prints DIR, for GITOPS_BG_BROWSER. In it: bin/chromium, python/ and axe.min.js, 700 MB. Needs apt-get, python3 with pip
# and npm, and no rights. A browser that GITOPS_BG_CHROMIUM names, or one that is installed, is taken as it is. Takes a
# minute, and none after that. Safe to call from several shells at once.
set -euo pipefail

playwright=1.65.2 axe=4.14.1
dir=${1:-$HOME/.cache/gitops-bg/browser}/$playwright-$axe
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

chromium() { # Put a command into bin/ that starts a browser.
  local found
  found=${GITOPS_BG_CHROMIUM:-$(type -P chromium)} && { ln -s "$found" bin/chromium; return; }
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "there is no chromium, and no apt-get"; return 1; }
  # What it needs and this machine lacks; what is installed is not fetched.
  local lacking
  lacking=$(apt-get -qq --simulate --no-install-recommends install chromium fonts-dejavu-core | awk '$1 == "Inst" { print $2 }')
  (mkdir packages && cd packages && apt-get -qq download $lacking)
  for package in packages/*.deb; do dpkg -x "$package" system; done
  rm -r packages
  local libraries
  libraries=$(cd system && find usr/lib lib -name '*.so*' -printf '%h\n' 2>/dev/null | sort -u | sed 's|^|$here/system/|' | paste -sd:)
  cat >bin/chromium <<WRAPPER
#!/usr/bin/env bash
# Starts the browser that lies beside this file with the libraries and fonts that came with it.
here=\$(cd "\$(dirname "\${BASH_SOURCE[0]}")/.." && pwd)
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export FONTCONFIG_FILE=\$here/fonts.conf XDG_DATA_DIRS="\$here/system/usr/share:/usr/share"
exec "\$here/system/usr/lib/chromium/chromium" "\$@"
WRAPPER
  chmod +x bin/chromium
  cat >fonts.conf <<'FONTS'
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir prefix="relative">system/usr/share/fonts</dir><dir>/usr/share/fonts</dir></fontconfig>
FONTS
}

if [[ ! -x $dir/bin/chromium ]]; then
  command -v npm >/dev/null || { echo "npm is not installed" >&2; exit 1; }
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/bin"
  (
    set -e
    cd "$work"
    python3 -m pip install --quiet --target python "playwright==$playwright"
    npm pack --silent "axe-core@$axe" && tar -xzf axe-core-*.tgz --strip-components=1 package/axe.min.js && rm axe-core-*.tgz
    chromium
  ) >"$dir/fetch.log" 2>&1 9>&- || { tail -n 20 "$dir/fetch.log" >&2; exit 1; }
  for made in "$work"/*; do
    rm -rf "${dir:?}/${made##*/}"
    mv "$made" "$dir/"
  done
fi
echo "$dir"

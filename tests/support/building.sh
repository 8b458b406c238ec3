# Sourced by the scripts beside it that compile a real part for tests by the ordinary go command: once on a machine, by one
# shell at a time. Of a build that fails or is interrupted nothing is left but Go's own caches, from which the next goes on.

# Have the programs in $dir/bin, of the modules whose checksum is SUMS; the caller's function `build` compiles them into the
# folder that it is given. Ends the script with the end of the log where it fails.
provide_built() { # WHAT SUMS PROGRAM...
  local what=$1 sums=$2 program missing=
  shift 2
  mkdir -p "$dir"
  exec 9>"$dir/.lock"
  flock 9
  for program; do [[ -x $dir/bin/$program ]] || missing=$program; done
  [[ -z $missing && -f $dir/version && $(<"$dir/version") == "$sums" ]] && return

  local log=$dir/build.log status
  echo "building $what; log: $log" >&2
  rm -rf "$dir"/work.*
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # Not as a condition: there `set -e` has no effect. The lock is this shell's: what it starts must not keep it where this
  # one is killed.
  set +e
  (
    set -e
    command -v go >/dev/null || { echo "go is not installed"; exit 1; }
    mkdir "$work/bin"
    export GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0 GOTMPDIR=$work
    build "$work/bin"
    mkdir -p "$dir/bin"
    rm -f "$dir/version"
    for program; do mv "$work/bin/$program" "$dir/bin/$program"; done
    echo "$sums" >"$dir/version"
  ) >"$log" 2>&1 9>&-
  status=$?
  set -e
  if ((status)); then
    echo "the build failed; the end of $log:" >&2
    tail -n 20 "$log" >&2
    exit 1
  fi
}

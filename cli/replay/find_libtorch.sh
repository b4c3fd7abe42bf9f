#!/bin/sh
# Finds LibTorch, which is not part of the package, and starts the replay that was built for its version.
set -u
# Returns the folders of a path but for the relative and empty ones, which mean the current folder: it may hold a stranger's files.
absolute() (
  IFS=':;'
  set -f
  folders=
  for folder in $1; do
    case $folder in /*) folders=$folders:$folder ;; esac
  done
  echo "${folders#:}"
)
CDPATH=
PATH=$(absolute "$PATH")
[ -n "$PATH" ] || PATH=/usr/bin:/bin
LD_LIBRARY_PATH=$(absolute "${LD_LIBRARY_PATH:-}")
[ -n "$LD_LIBRARY_PATH" ] || unset LD_LIBRARY_PATH
prefix=$(dirname "$(dirname "$(readlink -f "$0")")")
versions=$(cd "$prefix/libexec" && printf '%s\n' torch-* | sed 's/^torch-//' | sort -V)
newest=$(echo "$versions" | tail -n 1)
wanted=$(echo "$versions" | paste -sd, | sed 's/,/, /g; s/, \([^,]*\)$/ or \1/')
chosen=${UNDERSTUDY_TORCH_ROOT:-}
chosen_by=UNDERSTUDY_TORCH_ROOT
help=

fail() {
  echo "replay: $*" >&2
  exit 2
}

case ${UNDERSTUDY_PYTHON:-} in
  /*) ;;
  */*) fail "UNDERSTUDY_PYTHON=$UNDERSTUDY_PYTHON names a file of the current folder: expected a path that begins with /" ;;
  ?*) UNDERSTUDY_PYTHON=$(command -v "$UNDERSTUDY_PYTHON") ;;
esac
case $chosen in
  '' | /*) ;;
  *) fail "UNDERSTUDY_TORCH_ROOT=$chosen names a folder of the current folder: expected a path that begins with /" ;;
esac

is_libtorch() { [ -f "$1/lib/libtorch_cpu.so" ]; }

# A wheel has version.py, a plain LibTorch build-version; "2.11.0+cpu" is 2.11.0.
version_of() {
  if [ -f "$1/version.py" ]; then
    sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$1/version.py"
  elif [ -f "$1/build-version" ]; then
    sed 's/+.*//' "$1/build-version"
  fi
}

# Other minor versions have other symbols: the program would fail on a missing one. One that does not say its version is
# taken for the newest.
fits() {
  found=$(version_of "$1")
  version=${found:-$newest.0}
  version=${version%.*}
  [ -d "$prefix/libexec/torch-$version" ]
}

count=$#
while [ "$count" -gt 0 ]; do
  word=$1
  shift
  count=$((count - 1))
  case $word in
    --torch)
      [ "$count" -gt 0 ] || fail '--torch needs a folder, the one that holds lib/libtorch_cpu.so'
      chosen=$1
      chosen_by=--torch
      shift
      count=$((count - 1))
      ;;
    --torch=*)
      chosen=${word#--torch=}
      chosen_by=--torch
      ;;
    *)
      case $word in -h | --help | --help-all) help=yes ;; esac
      set -- "$@" "$word"
      ;;
  esac
done

searched=
torch=
package=$prefix
[ -f "$package/start.py" ] || package=$prefix/share/capture/understudy
if [ -n "$chosen" ]; then
  chosen=$(cd "$chosen" 2>/dev/null && pwd || echo "$chosen")
  is_libtorch "$chosen" || fail "$chosen_by: no LibTorch in '$chosen' (no lib/libtorch_cpu.so)"
  fits "$chosen" || fail "$chosen_by: LibTorch $found in '$chosen'; this replay was built for $wanted
  install:  such a torch, or a wheel of Understudy for this one: scripts/wheel --torch $version"
  torch=$chosen
fi
for folder in "$prefix/libtorch" "$prefix/lib/libtorch"; do
  [ -z "$torch" ] || break
  if is_libtorch "$folder" && fits "$folder"; then
    torch=$folder
  else
    searched="$searched
  searched: $folder"
  fi
done
# Skips relative paths: the working folder may hold untrusted files.
for python in "${UNDERSTUDY_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" "$(command -v python3)"; do
  [ -z "$torch" ] && [ "${python#/}" != "$python" ] || continue
  folder=$("$python" -I -B "$package/start.py" torch 2>/dev/null)
  if [ "${folder#/}" = "$folder" ] || ! is_libtorch "$folder"; then
    searched="$searched
  searched: $python, which has no torch"
  elif fits "$folder"; then
    torch=$folder
  else
    searched="$searched
  searched: $python, whose torch is $found"
  fi
done
[ -n "$torch" ] || fail "LibTorch $wanted is not found; replay needs it$searched
  install:  python3 -m pip install 'torch==$newest.*' (a wheel for the CPU or for CUDA)
  or name:  --torch DIR or UNDERSTUDY_TORCH_ROOT=DIR, a folder of a LibTorch or torch $wanted that holds lib/libtorch_cpu.so"

# The Open MPI that pip installs beside Python.
mpi=${UNDERSTUDY_PYTHON:+${UNDERSTUDY_PYTHON%/bin/*}/lib}
[ -e "$mpi/libmpi.so.40" ] || mpi=
export LD_LIBRARY_PATH="$torch/lib${mpi:+:$mpi}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ -z "$help" ] || echo 'Where LibTorch is: --torch DIR (before all else), UNDERSTUDY_TORCH_ROOT, libtorch in the prefix, the torch of Python.
'
exec "$prefix/libexec/torch-$version/understudy-replay" "$@"

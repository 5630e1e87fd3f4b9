#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image: installs the grader into a virtual
# environment that every user may read.
set -euo pipefail
umask 022
base=${AUTOGRADER_BASE:-/autograder}
home=${GRADER_HOME:-/opt/transformer-grader}

# A Python that the grader runs on, and that can make virtual environments.
fits() {
  "$1" -I -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
}
python=
for candidate in python3 python3.12 python3.11 python3.13; do
  if [ -z "$python" ] && fits "$candidate"; then python=$candidate; fi
done
if [ -z "$python" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  for version in 3.12 3.11 3.13; do
    if [ -z "$python" ] && apt-get install -y --no-install-recommends \
      "python$version" "python$version-venv"; then
      python=python$version
    fi
  done
fi
[ -n "$python" ] || { echo "setup.sh: no Python from 3.11 on is to be had" >&2; exit 1; }

"$python" -I -m venv "$home"
pip() {
  "$home/bin/python" -I -m pip install --quiet --disable-pip-version-check --no-cache-dir \
    --retries 2 --constraint "$base/source/constraints.txt" "$@"
}
# The build for processors is a tenth of the usual one; without it, that will do as well.
pip --index-url https://download.pytorch.org/whl/cpu torch || true
wheel=$(echo "$base"/source/transformer_grader-*.whl)
pip "$wheel[student]"
"$home/bin/python" -I -m compileall -q "$home" > /dev/null || true # the image is read-only later
"$home/bin/grader" --version

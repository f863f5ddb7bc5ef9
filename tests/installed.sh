#!/usr/bin/env bash
# Test the package as people get it: the wheel alone in an empty environment, the tests of the sdist,
# and no source tree anywhere near. usage: tests/installed.sh DIST [PYTHON]
set -euo pipefail

dist="$(cd "${1:?usage: tests/installed.sh DIST [PYTHON]}" && pwd)"
python="${2:-python3}"
wheel="$(ls "$dist"/boolrank-*-py3-none-any.whl)"
sdist="$(ls "$dist"/boolrank-*.tar.gz)"

place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/venv"
bin="$place/venv/bin"
cd "$place"

echo "== the wheel without extras: a library, and what else is needed"
"$bin/pip" install --quiet "$wheel"
"$bin/python" -c "
from boolrank import Interactions, KernelRanker
data = Interactions.from_pairs([1, 1, 2, 2, 3], ['a', 'b', 'a', 'c', 'b'])
assert KernelRanker('disjunctive(2)').fit(data).recommend([3], n=2).lists() == [['a', 'c']]"
code=0
"$bin/boolrank" kernels 2>said || code=$?
cat said
test "$code" = 1
grep -q "hint: pip install 'boolrank\[all\]'" said

echo "== the wheel with all extras: boolrank demo"
"$bin/pip" install --quiet "$wheel[all]"
"$bin/boolrank" demo --out demo >shown
test -s demo/report.html
grep -q "match a taste of the viewer" shown

echo "== the tests of the sdist, without its source"
"$bin/pip" install --quiet "$wheel[all,dev]"
tar xzf "$sdist"
cd boolrank-*/
rm -rf src
"$bin/python" -c "
import boolrank, sys
assert boolrank.__file__.startswith(sys.prefix), boolrank.__file__
print('testing', boolrank.__version__, 'in', boolrank.__file__)"
"$bin/python" -m pytest -q -p no:cacheprovider --numprocesses auto --dist loadfile tests
"$bin/python" -m pytest -q -p no:cacheprovider --pyargs --doctest-modules boolrank

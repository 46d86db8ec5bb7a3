#!/usr/bin/env bash
# Builds the sdist and a wheel from it, installs that into an empty environment and uses it far from the source tree.
# PYTHON names the interpreter; it has to have pip and build, and on Linux auditwheel. WHEEL_DIR keeps what was built.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
python="$(command -v "${PYTHON:-python3}")"
case "$python" in /*) ;; *) python="$PWD/$python" ;; esac
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$python" -m build --sdist --outdir "$work/dist" "$root" >/dev/null
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps -C build-dir="$work/build" \
  --wheel-dir "$work/dist" "$work"/dist/*.tar.gz
wheel="$(echo "$work"/dist/*.whl)"
# The newest manylinux tag that this system's libraries allow. Wheels for older systems come from cibuildwheel.
if [ "$(uname)" = Linux ]; then
  PATH="$(dirname "$python"):$PATH" "$python" -m auditwheel repair --wheel-dir "$work/repaired" "$wheel" >/dev/null
  wheel="$(echo "$work"/repaired/*.whl)"
fi
if [ -n "${WHEEL_DIR:-}" ]; then
  mkdir -p "$WHEEL_DIR"
  cp "$work"/dist/*.tar.gz "$wheel" "$WHEEL_DIR"
fi
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"

"$work/venv/bin/python" - "$wheel" "$root" <<'PYTHON'
import platform
import sys
import zipfile
from pathlib import Path

stable = sys.version_info >= (3, 12)
tag = "cp312-abi3" if stable else f"cp3{sys.version_info.minor}-cp3{sys.version_info.minor}"
assert f"-{tag}-" in Path(sys.argv[1]).name, f"{sys.argv[1]} should be a wheel for {tag}"
names = zipfile.ZipFile(sys.argv[1]).namelist()
x86 = platform.machine() in ("x86_64", "AMD64")
needed = ["_cpu", *(f"_core_{level}" for level in (("v1", "v3", "v4") if x86 else ("v1",)))]
for module in needed:
    found = [n for n in names if n.startswith(f"casimir/{module}.") and n.endswith((".so", ".pyd"))]
    assert len(found) == 1, f"the wheel has no {module}, or more than one: {found}"
    assert platform.system() == "Windows" or (".abi3." in found[0]) == stable, f"{found[0]} has another ABI than {tag}"
for file in ("casimir/__init__.pyi", "casimir/datasets/news.train.txt", "casimir/datasets/news.heldout.txt", "casimir/py.typed"):
    assert file in names, f"the wheel has no {file}"
stray = [n for n in names if not n.startswith("casimir") or n.endswith((".cpp", ".hpp", ".a"))]
assert not stray, f"the wheel holds {stray}"
PYTHON

cd "$work"  # nothing of the source tree can be imported from here
for level in v1 ""; do
  env ${level:+CASIMIR_ISA=$level} "$work/venv/bin/python" -W error - "$root" <<'PYTHON'
import sys

import casimir as cs
from casimir._native import isa_level
from casimir.datasets import load_news
from casimir.tasks.ner import extract, read_conll

assert not cs.__file__.startswith(sys.argv[1] + "/src"), cs.__file__
sentences = read_conll(load_news().train).sentences[:100]
X, y = extract(sentences), [list(sentence.labels) for sentence in sentences]
tagger = cs.SequenceTagger().fit(X, y)
tagger.save("model")
assert cs.load("model").predict(X) == tagger.predict(X) and tagger.gap_ <= 1e-2
print(f"level {isa_level}: certified gap {tagger.gap_:.1e}, {tagger.score(X, y):.3f} of the training tokens right")
PYTHON
done
"$work/venv/bin/casimir" --version
echo "$(basename "$wheel"): $(($(stat -c %s "$wheel" 2>/dev/null || stat -f %z "$wheel") / 1024)) KB, works outside the source tree"

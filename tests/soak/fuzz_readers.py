"""Fuzzers of the Python readers: `python fuzz_readers.py READER [options of libFuzzer] FOLDER`; alone it lists them.

The whole files that a reader takes are put into FOLDER, the last one of inputs. Needs atheris, which `make fuzz`
installs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main(name: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["casimir"]):
        from soak.readers import READERS, tried

    folder = Path(tempfile.mkdtemp(prefix="casimir-fuzz-"))
    for number, data in enumerate(READERS[name].whole()):
        (Path(sys.argv[-1]) / f"whole-{number}").write_bytes(data)

    def one_input(data: bytes) -> None:
        tried(name, data, folder)

    atheris.Setup(sys.argv[:1] + sys.argv[2:], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        from soak.readers import READERS

        print("\n".join(READERS))

"""Copies of a labelled file, packed and trained on from disk and in memory: CPU time and memory as ratios.

python -m benchmarks.packs FILE --copies 64 --memory 512MB --tol 1e-2
python -m benchmarks.packs FILE --copies 983 --memory 2GB --disk-only --keep packed/
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_PAUSE = 0.02  # seconds between two looks at a child's memory


def watched(command: list[str]) -> tuple[str, int]:
    """(stdout, the most anonymous memory in bytes) of a command, which must not fail."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    status, most = Path(f"/proc/{process.pid}/status"), 0
    while process.poll() is None:
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("RssAnon:"):
                most = max(most, 1024 * int(line.split()[1]))
        time.sleep(_PAUSE)
    said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ... ended with {process.returncode}")
    return said, most


def packed(file: Path, copies: int, folder: Path, memory: str) -> None:
    """The copies, unless the folder is there."""
    if folder.exists():
        return
    options = ["--features", "paper", "--out", str(folder), "--memory", memory, "--quiet"]
    _, most = watched([sys.executable, "-m", "casimir", "pack", *[str(file.resolve())] * copies, *options])
    print(f"packed with at most {most / 1e6:,.0f} MB of anonymous memory", flush=True)


def trained(where: str, folder: Path, tol: str, *memory: str) -> dict[str, Any]:
    said, most = watched([sys.executable, "-m", "benchmarks.packs_child", where, str(folder), tol, *memory])
    found: dict[str, Any] = json.loads(said) | {"anonymous": most}
    print(
        f"{where}: {found['tokens']:,} tokens, gap {found['gap']:.1e} after {found['passes']} epochs, "
        f"F {found['objective']:.8f}, {found['cpu']:.1f} s CPU, {most / 1e6:,.0f} MB anonymous"
        + (f", {found['kept'] / found['tokens']:.0f} bytes a token kept beside the pack" if found["kept"] else ""),
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--copies", type=int, default=64)
    parser.add_argument("--memory", default="512MB")
    parser.add_argument("--tol", default="1e-2")
    parser.add_argument("--disk-only", action="store_true")
    parser.add_argument("--keep", type=Path, help="where the pack is, or goes and stays")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="casimir-bench-") as scratch:
        folder = given.keep or Path(scratch) / "pack"
        packed(given.file, given.copies, folder, given.memory)
        disk = trained("disk", folder, given.tol, given.memory)
        if given.disk_only:
            return
        memory = trained("memory", folder, given.tol)
        print(
            f"from disk {disk['cpu'] / memory['cpu']:.2f}x the CPU and {disk['anonymous'] / memory['anonymous']:.2f}x "
            "the anonymous memory of training in memory"
        )


if __name__ == "__main__":
    main()

"""Amounts of memory as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


def parse_size(given: str | int, name: str = "memory") -> int:
    """Bytes of "512MB", "2GB", "1.5 GiB" or a number of bytes."""
    found = _SIZE.fullmatch(str(given))
    size = int(float(found[1]) * _UNITS.get(found[2].lower(), 0)) if found else 0
    if size < 1:
        raise ValueError(f"{name}={given!r}; it must be an amount such as '512MB', '2GB' or a number of bytes.")
    return size


def anonymous_memory() -> int:
    """Bytes of memory of this process that no file stands behind; of all it holds where the system does not tell."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    import sys

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

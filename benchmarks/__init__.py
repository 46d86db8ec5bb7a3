"""Benchmarks. Numerical libraries get one thread, which they only heed when told before NumPy is imported."""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

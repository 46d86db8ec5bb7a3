"""The hash of feature names: fixed for ever, and as good as random."""

from __future__ import annotations

import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casimir._native import core

text = st.text(st.characters(exclude_categories=["Cs"]))
MASK = 2**64 - 1
ROOTS = 0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1


def scramble(x: int) -> int:
    x = x * ROOTS[1] & MASK
    x = (x ^ x >> 32) * ROOTS[2] & MASK
    return x ^ x >> 29


def reference(data: bytes) -> int:
    """The definition, byte order and all, in Python integers."""
    h = ROOTS[0] ^ scramble(len(data))
    for start in range(0, len(data), 8):
        h = scramble(h ^ int.from_bytes(data[start : start + 8], "little")) + ROOTS[3] & MASK
    return scramble((h << 23 | h >> 41) & MASK ^ ROOTS[3])


@given(text)
def test_hash_equals_its_definition(text: str) -> None:
    assert core.hash_string(text) == reference(text.encode())


@given(text, st.integers(1, 2**32 - 1))
def test_bucket_is_the_scaled_hash(text: str, n: int) -> None:
    assert core.bucket_of(text, n) == core.hash_string(text) * n >> 64


def test_hash_values_are_those_of_version_1() -> None:
    """Saved models depend on these numbers: they may change only together with hash_version."""
    assert core.hash_version == 1
    golden = {
        "": 11255394118375427267,
        "a": 11031962007840130326,
        "word=Pa": 7601500904718756692,
        "word=Par": 14485234028983326158,
        "word=Paris": 6986357839721092805,
        "w[-1]=Zürich 東京": 1309481766447617498,
        "x" * 100: 6324106620330897330,
    }
    assert {text: core.hash_string(text) for text in golden} == golden
    assert [core.bucket_of("word=Paris", n) for n in (1, 2, 65535, 2**18, 2**32 - 1)] == [
        0,
        0,
        24820,
        99282,
        1626638192,
    ]


@pytest.mark.parametrize("n_buckets", [1000, 65535, 2**18])
@pytest.mark.parametrize("pattern", ["{}", "w[-1]={}", "{}=a long constant tail of text", "{:012d}"])
def test_similar_strings_spread_like_random_ones(n_buckets: int, pattern: str) -> None:
    """The chi-square statistic of the bucket counts lies within 5 standard deviations of its mean."""
    m = 100_000
    counts = np.bincount([core.bucket_of(pattern.format(i), n_buckets) for i in range(m)], minlength=n_buckets)
    chi2 = float(((counts - m / n_buckets) ** 2).sum() * n_buckets / m)
    assert abs(chi2 - (n_buckets - 1)) < 5 * np.sqrt(2 * (n_buckets - 1) * (m - 1) / m)


@pytest.mark.parametrize("length", [1, 3, 7, 8, 9, 15, 16, 17, 40])
def test_flipping_one_bit_flips_half_of_the_hash(length: int) -> None:
    rng = np.random.default_rng(length)
    trials, flips = 400, np.zeros(64)
    for _ in range(trials):
        one = rng.integers(32, 128, length)
        other = one.copy()
        other[rng.integers(length)] ^= 1 << rng.integers(0, 5)
        a, b = (core.hash_string(bytes(codes.tolist()).decode()) for codes in (one, other))
        flips += [(a ^ b) >> bit & 1 for bit in range(64)]
    assert np.all(np.abs(flips / trials - 0.5) < 0.13)


def test_short_strings_do_not_collide() -> None:
    texts = [a + b + c for a in string.printable for b in string.ascii_letters for c in ("", "\0", *string.digits)]
    assert len({core.hash_string(t) for t in texts}) == len(texts)

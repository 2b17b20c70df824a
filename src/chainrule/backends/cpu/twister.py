"""The Mersenne twister behind every random number on the CPU, with PyTorch's seeding and its saved state.

A block is one turn of the twister: 624 words. NumPy's bit generator always stands at the end of the block in
use, so its key is the state that PyTorch saves and the position inside the block is ours. Words are combined
as little-endian machines do. An engine takes no lock: threads that share one may see a word twice.
"""

from __future__ import annotations

import math
import operator
import os
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEFAULT_SEED", "STATE_BYTES", "Engine", "fresh_seed"]

DEFAULT_SEED = 67280421310721
STATE_BYTES = 5056

_BLOCK = 624
_BULK = 16 * _BLOCK  # words drawn at once: 80 kB, so the widening to 64 bits stays in cache
_WORD = 0xFFFFFFFF
_UNIT32 = np.float32(2.0**-24)
_UNIT64 = 2.0**-53
_LOW24 = np.uint32(0xFFFFFF)
_LOW53 = np.uint64(2**53 - 1)
_SHIFT = np.uint64(32)
_CHUNK = 16384  # elements converted at once: temporaries stay in cache, 5 times faster than whole arrays

_LAYOUT = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "key", "double", "has_double", "float", "has_float"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", (_BLOCK,)), "<f8", "<i4", "<f4", "?"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_BYTES,
    }
)


def fresh_seed() -> int:
    """64 bits from the operating system."""
    return int.from_bytes(os.urandom(8), "little")


def _unsigned(seed: SupportsIndex) -> int:
    if isinstance(seed, (bool, np.bool)) or not hasattr(seed, "__index__"):
        raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
    value = operator.index(seed)
    if not -(2**63) <= value < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return value % 2**64


class Engine:
    """A stream of random words; `next_double`, `next_float`: the second number of a normal pair."""

    _position: int
    _end: int

    __slots__ = (
        "_bits",
        "_block",
        "_end",
        "_floats",
        "_position",
        "_seed",
        "_seeder",
        "_unkeyed",
        "_words",
        "next_double",
        "next_float",
    )

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._bits: Any = None
        self._seeder: Any = None
        self.seed(seed)

    def seed(self, seed: SupportsIndex) -> None:
        """Start a stream anew. -1 is 2**64 - 1; the low 32 bits choose the stream, all 64 are remembered."""
        self._seed = _unsigned(seed)
        self._unkeyed = True
        self.next_double: float | None = None
        self.next_float: float | None = None
        self._hold(np.empty(0, np.uint32), 0, 0)

    @property
    def initial_seed(self) -> int:
        return self._seed

    def random32(self, count: int) -> NDArray[np.uint32]:
        """The next words, in a fresh array."""
        start = self._position
        stop = start + count
        if stop <= self._end:
            self._position = stop
            return self._block[start:stop].copy()
        out = np.empty(count, np.uint32)
        self._fill(out)
        return out

    def random64(self, count: int) -> NDArray[np.uint64]:
        """The next pairs of words, the first of a pair on top."""
        pairs = self.random32(2 * count).view(np.uint64)
        return (pairs << _SHIFT) | (pairs >> _SHIFT)

    def unit32(self, count: int) -> NDArray[np.float32]:
        """Uniform numbers in [0, 1): multiples of 2**-24, one word each."""
        start = self._position
        stop = start + count
        if stop <= self._end:
            self._position = stop
            return self._block_floats()[start:stop].copy()
        return _floats(self.random32(count))

    def unit64(self, count: int) -> NDArray[np.float64]:
        """Uniform numbers in [0, 1): multiples of 2**-53, two words each."""
        return _doubles(self.random32(2 * count).view(np.uint64))

    def next32(self) -> int:
        if self._position >= self._end:
            self._turn()
        word: int = self._block_words()[self._position]
        self._position += 1
        return word

    def next_unit64(self) -> float:
        """One number of `unit64`, for the loops whose number of draws depends on what they draw."""
        high = self.next32() & 0x1FFFFF
        return (high * 4294967296 + self.next32()) * _UNIT64

    def get_state(self) -> NDArray[np.uint8]:
        """The bytes `torch.get_rng_state()` would give at this point of the stream."""
        state = np.zeros(1, _LAYOUT)
        record = state[0]
        record["seed"] = self._seed
        record["left"] = self._end - self._position + 1
        record["seeded"] = 1
        record["next"] = self._position
        record["key"] = self._keyed().state["state"]["key"]
        if self.next_double is not None:
            record["double"], record["has_double"] = self.next_double, 1
        if self.next_float is not None:
            record["float"], record["has_float"] = self.next_float, True
        return state.view(np.uint8)

    def set_state(self, state: NDArray[np.uint8]) -> None:
        record = _checked_state(state)
        self._seed = int(record["seed"])
        self._unkeyed = False
        self.next_double = float(record["double"]) if record["has_double"] else None
        self.next_float = float(record["float"]) if record["has_float"] else None
        position = int(record["next"])
        self._load(record["key"].astype(np.uint32))
        self._hold(self._raw(_BLOCK), position, position + int(record["left"]) - 1)

    def clone(self) -> Engine:
        twin = Engine.__new__(Engine)
        twin._bits = twin._seeder = None
        twin.set_state(self.get_state())
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return Engine, (self._seed,), self.get_state()

    def __setstate__(self, state: NDArray[np.uint8]) -> None:
        self.set_state(state)

    def _hold(self, block: NDArray[np.uint32], position: int, end: int) -> None:
        self._block = block
        self._floats: NDArray[np.float32] | None = None
        self._words: list[int] | None = None
        self._position = position
        self._end = end

    def _block_floats(self) -> NDArray[np.float32]:
        if self._floats is None:
            self._floats = _floats(self._block.copy())
        return self._floats

    def _block_words(self) -> list[int]:
        if self._words is None:
            self._words = self._block.tolist()
        return self._words

    def _turn(self) -> None:
        self._hold(self._raw(_BLOCK), 0, _BLOCK)

    def _fill(self, out: NDArray[np.uint32]) -> None:
        done = self._take(out)
        while out.size - done >= _BLOCK:
            count = min(_BULK, (out.size - done) // _BLOCK * _BLOCK)
            out[done : done + count] = self._raw(count)
            done += count
            self._hold(out[done - _BLOCK : done].copy(), _BLOCK, _BLOCK)
        if done < out.size:
            self._turn()
            self._take(out[done:])

    def _take(self, out: NDArray[np.uint32]) -> int:
        """Move what is left of the block, or what fits, into `out`."""
        count = min(out.size, self._end - self._position)
        out[:count] = self._block[self._position : self._position + count]
        self._position += count
        return count

    def _raw(self, count: int) -> NDArray[np.uint32]:
        words: NDArray[np.uint64] = self._keyed().random_raw(count)
        return words.astype(np.uint32)

    def _keyed(self) -> Any:
        """NumPy's generator, made at the first draw: importing numpy.random takes 11 ms, making one 60 us."""
        if self._bits is None:
            self._bits = np.random.MT19937(0)
            self._seeder = np.random.RandomState(self._bits)
        if self._unkeyed:
            self._unkeyed = False
            self._seeder.seed(self._seed & _WORD)
        return self._bits

    def _load(self, key: NDArray[np.uint32]) -> None:
        self._keyed().state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 0}}


def _floats(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """In the memory of `words`: a fresh megabyte costs more than the arithmetic."""
    out = words.view(np.float32)
    for start in range(0, words.size, _CHUNK):
        part = words[start : start + _CHUNK] & _LOW24
        np.multiply(part.astype(np.float32), _UNIT32, out=out[start : start + _CHUNK])
    return out


def _doubles(pairs: NDArray[np.uint64]) -> NDArray[np.float64]:
    """In the memory of `pairs`, whose low half is the word drawn first."""
    out = pairs.view(np.float64)
    for start in range(0, pairs.size, _CHUNK):
        low = pairs[start : start + _CHUNK]
        high = low << _SHIFT
        low >>= _SHIFT
        high |= low
        high &= _LOW53
        np.multiply(high.view(np.int64), _UNIT64, out=out[start : start + _CHUNK])
    return out


def _checked_state(state: NDArray[np.uint8]) -> Any:
    if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    if not state.flags.c_contiguous:
        raise RuntimeError("RNG state must be contiguous")
    size = math.prod(state.shape)
    if size != STATE_BYTES:
        raise RuntimeError(
            f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be {size}"
        )
    record = np.frombuffer(state.tobytes(), _LAYOUT)[0]
    position, left = int(record["next"]) & _WORD, int(record["left"])
    # PyTorch accepts a position that runs past the key, and then reads beyond it; here that is invalid too.
    if not record["seeded"] or not 1 <= left <= _BLOCK or position + left - 1 > _BLOCK:
        raise RuntimeError("Invalid mt19937 state")
    return record

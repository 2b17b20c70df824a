"""Tools for tests: comparison, random tensors, and the laws every op obeys (`chainrule.testing.contract`)."""

from __future__ import annotations

from chainrule.testing.compare import assert_close
from chainrule.testing.make import make_tensor

__all__ = ["assert_close", "make_tensor"]

"""Every exception Chainrule raises of its own, each a kind of what PyTorch would raise in its place.

    RuntimeError
    ├── GraphError             something about the graph of a gradient is wrong
    │   ├── FreedError         backward through a graph that was already freed
    │   ├── DetachedError      a gradient was asked of something that has none
    │   ├── StaleError         a saved value was changed in place
    │   └── UnusedError        a gradient was asked with respect to something that was not used
    ├── InferenceError         an inference tensor was used where autograd needs a normal one
    └── LinAlgError            a matrix does not have the decomposition or the inverse asked for

The first line of each message is PyTorch's phrase, so that searches and `assertRaisesRegex` still match.
"""

from __future__ import annotations

__all__ = ["DetachedError", "FreedError", "GraphError", "InferenceError", "LinAlgError", "StaleError", "UnusedError"]


class GraphError(RuntimeError):
    """Something about the graph of a gradient is wrong."""


class FreedError(GraphError):
    """Backward through a graph whose saved values were already freed."""


class DetachedError(GraphError):
    """A gradient was asked of something that does not require one."""


class StaleError(GraphError):
    """A value saved for backward was changed in place before backward used it."""


class UnusedError(GraphError):
    """A gradient was asked with respect to something that the outputs were not computed from."""


class InferenceError(GraphError):
    """An inference tensor was used where autograd needs a normal one."""


class LinAlgError(RuntimeError):
    """A matrix does not have the decomposition or the inverse asked for."""

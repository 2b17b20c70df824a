"""Chainrule: PyTorch's automatic differentiation, written again in Python. `import chainrule as torch`."""

from __future__ import annotations

from chainrule.autograd import bind as _bind
from chainrule.autograd.modes import no_grad
from chainrule.core.public import publish as _publish
from chainrule.core.tensor import Tensor
from chainrule.ops import arithmetic, bootstrap, create, exponential, facts, methods

_publish("f", globals())

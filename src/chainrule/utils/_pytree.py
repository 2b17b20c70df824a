"""Trees of containers, under the path where programs written for PyTorch look for them."""

from chainrule.core.tree import *  # noqa: F403

"""Neural networks: modules, their parameters, and the functions they are made of."""

from chainrule.nn import functional, init, modules, parameter, utils
from chainrule.nn.modules import *
from chainrule.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils", *modules.__all__]  # noqa: PLE0604

"""Layers, by kind."""

from chainrule.nn.modules import module
from chainrule.nn.modules.activation import *
from chainrule.nn.modules.batchnorm import *
from chainrule.nn.modules.container import *
from chainrule.nn.modules.conv import *
from chainrule.nn.modules.distance import *
from chainrule.nn.modules.dropout import *
from chainrule.nn.modules.flatten import *
from chainrule.nn.modules.fold import *
from chainrule.nn.modules.instancenorm import *
from chainrule.nn.modules.linear import Bilinear, Identity, Linear
from chainrule.nn.modules.loss import *
from chainrule.nn.modules.module import Module
from chainrule.nn.modules.normalization import *
from chainrule.nn.modules.padding import *
from chainrule.nn.modules.pooling import *
from chainrule.nn.modules.sparse import *
from chainrule.nn.modules.upsampling import *

__all__ = sorted(name for name, value in globals().items() if isinstance(value, type) and issubclass(value, Module))  # noqa: PLE0605

"""Optimizers: from gradients to better parameters."""

from chainrule.optim import lr_scheduler
from chainrule.optim.adagrad import Adagrad
from chainrule.optim.adam import Adam, AdamW
from chainrule.optim.optimizer import Optimizer
from chainrule.optim.rmsprop import RMSprop
from chainrule.optim.sgd import SGD
from chainrule.optim.sparse_adam import SparseAdam

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "SparseAdam", "lr_scheduler"]

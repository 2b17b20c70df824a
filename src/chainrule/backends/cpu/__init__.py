"""NumPy kernels: pure functions on arrays, each linear one beside its adjoint."""

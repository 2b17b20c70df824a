"""Arrays and kernels, one folder per device; nothing here knows a Tensor."""

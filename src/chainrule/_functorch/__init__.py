"""PyTorch's `torch._functorch`: what the package functorch, where the transforms come from, has beside `torch.func`."""

import chainrule as torch

x = torch.randn(3, 4, requires_grad=True)  # Multi-dimensional input tensor
y = x.sum()  # Scalar operation
y.backward()  # Compute gradients

print(x.grad)  # Gradient is a tensor of the same shape as x, filled with ones

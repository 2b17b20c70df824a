import chainrule as torch

x = torch.randn(3, requires_grad=True)
y = x**2  # Element-wise squaring
z = y.sum() # Summation
w = torch.sin(z) # Sine function
w.backward()

print(x.grad) # Gradient of w with respect to x (chain rule applied)

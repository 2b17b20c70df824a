import chainrule as torch

# Initialize tensors with requires_grad.
x = torch.tensor(3.0, requires_grad=True)
y = x**2

# First backward pass
y.backward()
print("Gradient of x after first backward pass: ", x.grad)

# Manually zero out the gradient of x.
x.grad.zero_()

# Recalculate the output, y and redo the backward pass
y = x**3
y.backward()

#print the value after zero_() and the second backward pass.
print("Gradient of x after zero_() and the second backward pass: ", x.grad)

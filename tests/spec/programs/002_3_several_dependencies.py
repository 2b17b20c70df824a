import chainrule as torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x.pow(2)
b = torch.sin(x)
loss = a + b

loss.backward()
print("Gradient of x:", x.grad)

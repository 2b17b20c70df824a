import chainrule as torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x ** 2
# y.backward() would fail because y is not scalar
loss = y.sum()
loss.backward()
print(x.grad) # tensor([2., 4., 6.])

import chainrule as torch

x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(4.0, requires_grad=True)
L = x ** 2 + 3 * y
L.backward()
print(x.grad) # tensor(4.)
print(y.grad) # tensor(3.)

import chainrule as torch

x = torch.tensor(2.0, requires_grad=True)
y = x**2
z = 2*y + 1
z.backward()
print(x.grad) # Output: tensor(8.)

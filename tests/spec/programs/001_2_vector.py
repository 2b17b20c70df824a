import chainrule as torch

x = torch.tensor([2.0, 3.0], requires_grad=True)
y = x**2
z = torch.sum(y)
z.backward()
print(x.grad) # Output: tensor([4., 6.])

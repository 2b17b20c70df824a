import chainrule as torch

x = torch.tensor(3.0, requires_grad=True)
y = x + 1
z = y ** 2
z.backward()
print(x.grad) # tensor(8.)

import chainrule as torch

x = torch.tensor(2.0, requires_grad=True)
loss = x ** 2
loss.backward()
print(x.grad)

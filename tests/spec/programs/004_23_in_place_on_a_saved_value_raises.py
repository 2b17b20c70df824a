import chainrule as torch

x = torch.randn(3, requires_grad=True)
a = x + 0
y = a ** 2
a.add_(1.0) # may break autograd
loss = y.sum()
loss.backward()

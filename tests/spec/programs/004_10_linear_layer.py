import chainrule as torch

B = 5
d = 3
h = 4
layer = torch.nn.Linear(d, h)
X = torch.randn(B, d)
Y = layer(X)
L = Y.sum()
L.backward()
print(layer.weight.grad.shape) # torch.Size([4, 3])
print(layer.bias.grad.shape) # torch.Size([4])

print(layer)
print(layer.weight.grad)
print(layer.bias.grad)

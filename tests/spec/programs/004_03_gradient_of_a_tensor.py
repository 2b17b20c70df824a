import chainrule as torch

W = torch.randn(3, 4, requires_grad=True)
L = (W ** 2).sum()
L.backward()
print(W.shape) # torch.Size([3, 4])
print(W.grad.shape) # torch.Size([3, 4])

# Thus W.grad contains 2 * W.
print(W.grad)
print(torch.equal(W.grad, 2 * W))

import chainrule as torch

A = torch.randn(2, 3, requires_grad=True)
B = torch.randn(3, 4, requires_grad=True)
C = torch.mm(A, B)  # Matrix multiplication
loss = C.sum()
loss.backward()

print(A.grad)  # Gradient of the loss with respect to A
print(B.grad)  # Gradient of the loss with respect to B

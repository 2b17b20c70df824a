import chainrule as torch

A = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
B = torch.tensor([[5.0, 6.0], [7.0, 8.0]])
C = torch.mm(A, B)
loss = torch.sum(C)
loss.backward()
print(A.grad)
# Output: tensor([[20., 28.],
#                 [20., 28.]])

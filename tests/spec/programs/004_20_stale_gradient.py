import chainrule as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
X = torch.randn(8, 3)
y = torch.randn(8, 1)

loss = ((model(X) - y) ** 2).mean()
loss.backward()
optimizer.step()
print(model.weight.grad)
# next iteration
loss = ((model(X) - y) ** 2).mean()
loss.backward()
optimizer.step()
print(model.weight.grad)
print(model.weight)

import chainrule as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
X = torch.randn(8, 3)
y = torch.randn(8, 1)
pred = model(X)
loss = ((pred - y) ** 2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()

print(loss)
print(model.weight)
print(model.bias)

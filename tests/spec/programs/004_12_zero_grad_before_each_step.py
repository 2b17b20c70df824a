import chainrule as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
X = torch.randn(8, 3)
y = torch.randn(8, 1)

for step in range(3):
    loss = ((model(X) - y) ** 2).mean()
    optimizer.zero_grad()
    print(model.weight.grad, model.bias.grad)
    loss.backward()
    optimizer.step()
    print(loss)

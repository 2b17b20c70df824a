import chainrule as torch

model = torch.nn.Linear(3, 1)
X = torch.randn(8, 3)

model.eval()
with torch.no_grad():
    pred = model(X)

print(model.training, pred.requires_grad, pred.grad_fn)
print(pred)

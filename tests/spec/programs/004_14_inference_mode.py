import chainrule as torch

model = torch.nn.Linear(3, 1)
X = torch.randn(8, 3)

model.eval()
with torch.inference_mode():
    pred = model(X)

print(pred.requires_grad, pred.is_inference())
print(pred)

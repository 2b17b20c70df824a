import chainrule as torch

def my_custom_function(x):
    return torch.exp(x) * torch.sin(x)

x = torch.tensor(2.0, requires_grad=True)
y = my_custom_function(x)
y.backward()

print("Gradient of x:", x.grad)

import chainrule as torch

# Create tensors for weights and inputs. Note weights require gradients.
W = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
b = torch.tensor([0.5, 1.0], requires_grad=True) #bias
X = torch.tensor([[1.0, 0.5], [0.2, 0.8]]) #input

# Define a simple linear transformation
y = torch.matmul(X, W) + b

# Define a sample loss function, let's use sum of squared elements of output
loss = torch.sum(y**2)

# Now calculate gradients by backpropagating.
loss.backward()

# View the gradients of the weights and bias tensors.
print("Gradient of weights W: ", W.grad)
print("Gradient of bias b:", b.grad)

"""A small network learns to tell two spirals apart; then the graph behind its loss is drawn."""

import math
import sys
import time

import chainrule as torch
from chainrule import nn

STEPS = 400


def spirals(count):
    """`count` points on each of two interleaved spirals, and which spiral each is on."""
    turn = torch.linspace(0.25, 2.5, count) * math.pi
    arm = torch.stack([turn * turn.cos(), turn * turn.sin()], dim=1) / 8
    noise = 0.02 * torch.randn(2 * count, 2)
    return torch.cat([arm, -arm]) + noise, torch.cat([torch.zeros(count, 1), torch.ones(count, 1)])


def progress(step, loss, started):
    filled, left = 30 * step // STEPS, (time.perf_counter() - started) / step * (STEPS - step)
    print(f"\r[{'#' * filled:30s}] {step}/{STEPS}  loss {loss:.4f}  {left:4.1f} s left", end="", flush=True)


def draw(node, depth=0, most=7):
    print("  " * depth + node.name().split("::")[-1])
    for parent, _ in node.next_functions:
        if parent is not None and depth < most:
            draw(parent, depth + 1, most)


torch.manual_seed(0)
points, labels = spirals(100)
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
started = time.perf_counter()
for step in range(1, STEPS + 1):
    loss = nn.functional.binary_cross_entropy_with_logits(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == STEPS or (step % 10 == 0 and sys.stdout.isatty()):
        progress(step, loss.item(), started)
right = ((model(points) > 0) == (labels > 0)).float().mean().item()
print(f"\n{right:.0%} of the points are on the right spiral after {time.perf_counter() - started:.1f} s")

sample = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
print("gradients agree with finite differences:", torch.autograd.gradcheck(model.double(), sample))

print("\nThe graph of the loss:")
draw(loss.grad_fn)

print("\nWhat a missing gradient says:")
try:
    model(points.double()).detach().sum().backward()
except RuntimeError as error:
    print(error)

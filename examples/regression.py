"""Linear regression by gradient descent, beside the closed solution of scikit-learn.

python examples/regression.py
"""

from __future__ import annotations

import numpy as np

import svod
from svod import nn, optim
from training import progress, save_curve


def data(rows: int = 500, features: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points near a hyperplane."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, features))
    y = x @ rng.standard_normal(features) + 0.5 + 0.1 * rng.standard_normal(rows)
    return x, y


def fit(x: np.ndarray, y: np.ndarray, steps: int = 300, quiet: bool = False) -> tuple[np.ndarray, float, list[float]]:
    """The weights and the constant that minimize squared distances, and the loss at each step."""
    inputs, targets = svod.Tensor(x), svod.Tensor(y[:, None])
    weight = svod.zeros(1, x.shape[1], dtype="float64").requires_grad_()
    bias = svod.zeros(1, dtype="float64").requires_grad_()
    optimizer = optim.SGD([weight, bias], lr=0.1, momentum=0.9)
    losses: list[float] = []
    for _ in progress(range(steps), losses, quiet):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(inputs.linear(weight, bias), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return weight.numpy()[0], bias.item(), losses


def main() -> None:
    from sklearn.linear_model import LinearRegression

    x, y = data()
    weight, bias, losses = fit(x, y)
    right = LinearRegression().fit(x, y)
    print(f"largest difference from scikit-learn: {np.abs(weight - right.coef_).max():.1e}")
    assert np.allclose(weight, right.coef_, atol=1e-8) and np.isclose(bias, right.intercept_, atol=1e-8)
    save_curve(losses, "regression.png")


if __name__ == "__main__":
    main()

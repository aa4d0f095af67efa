#!/usr/bin/env python3
"""record_optimizers.py : prints tests/recorded/optimizers.json, the trajectories of PyTorch's optimizers that
test_optim_recorded.cpp compares with. Needs PyTorch (Debian: python3-torch); run again only to record anew."""

import json
import math

import torch

START = [1.0, -0.5, 2.25, 0.0, -3.0]
STEPS = 10


def gradient(t):
    """Gradients of step t (from 1); the test forms the same."""
    return [math.sin(1.3 * i + 0.7 * t) * (i + 1) for i in range(5)]


CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.05, "amsgrad": True}),
    ("RMSprop", {"lr": 0.02}),
    ("RMSprop", {"lr": 0.02, "alpha": 0.9, "momentum": 0.8, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-4, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "weight_decay": 0.1}),
    # PyTorch 1.13 forms the next momentum's product wrongly, but for foreach.
    ("NAdam", {"lr": 0.05, "foreach": True}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.1, "foreach": True}),
    ("RAdam", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.95)}),
]

LBFGS_CASES = [
    {"lr": 1},
    {"lr": 0.5, "max_iter": 4, "history_size": 2},
    {"lr": 1, "line_search_fn": "strong_wolfe"},
    {"lr": 1, "line_search_fn": "strong_wolfe", "max_iter": 3, "max_eval": 5, "history_size": 3},
]


def own_options(options):
    return {key: value for key, value in options.items() if key != "foreach"}


def trajectory(name, options):
    w = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, name)([w], **options)
    rows = []
    for t in range(1, STEPS + 1):
        w.grad = torch.tensor(gradient(t), dtype=torch.float64)
        optimizer.step()
        rows.append(w.detach().tolist())
    return rows


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def lbfgs_trajectory(options):
    x = torch.tensor([-1.2, 1.0, 0.5, -0.3], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([x], **options)
    rows, losses, evaluations = [], [], []
    for _ in range(5):
        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(x)
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
        rows.append(x.detach().tolist())
        evaluations.append(optimizer.state[x]["func_evals"])
    return {"weights": rows, "losses": losses, "evaluations": evaluations}


def main():
    torch.set_default_dtype(torch.float64)  # also of what optimizers keep
    cases = [{"name": name, "options": own_options(options), "weights": trajectory(name, options)} for name, options in CASES]
    lbfgs = [{"options": options, **lbfgs_trajectory(options)} for options in LBFGS_CASES]
    lines = [f'{{"pytorch": "{torch.__version__}",', '"optimizers": [']
    lines += [",\n".join(json.dumps(case) for case in cases), "],", '"lbfgs": [']
    lines += [",\n".join(json.dumps(case) for case in lbfgs), "]}"]
    print("\n".join(lines))


main()

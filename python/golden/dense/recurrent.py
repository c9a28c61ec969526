"""lstm, gru, rnn_tanh and rnn_relu."""

from ..inputs import LAYOUTS, NAN, Gen, tensor
from ..record import Op, aten

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def call(gen, op, steps=3, batch=2, inputs=3, hidden=4, layers=1, both=False, biases=True, first=False, layout=lambda t: t):
    """The arguments of a call."""
    directions, rows = 2 if both else 1, GATES[op] * hidden
    params = []
    for layer in range(layers):
        width = inputs if layer == 0 else directions * hidden
        for _ in range(directions):
            params += [gen.uniform((rows, width), "f32", -0.5, 0.5), gen.uniform((rows, hidden), "f32", -0.5, 0.5)]
            params += [gen.uniform((rows,), "f32", -0.5, 0.5) for _ in range(2 if biases else 0)]
    states = [layout(gen.normal((layers * directions, batch, hidden))) for _ in range(2 if op == "lstm" else 1)]
    return {
        "input": layout(gen.normal((batch, steps, inputs) if first else (steps, batch, inputs))),
        "hx": states if op == "lstm" else states[0],
        "params": [layout(p) for p in params],
        "has_biases": biases,
        "num_layers": layers,
        "dropout": 0.0,
        "train": False,
        "bidirectional": both,
        "batch_first": first,
    }


def cases():
    """Every case of this file."""
    for name in GATES:
        op, gen = Op(name, aten(f"{name}.input")), Gen(name)
        op.ok(**call(gen, name))
        op.ok(**call(gen, name, steps=1, batch=1, inputs=1, hidden=1))
        op.ok(**call(gen, name, layers=3))
        op.ok(**call(gen, name, layers=2, both=True))
        op.ok(**call(gen, name, both=True, first=True, biases=False))
        op.ok(**call(gen, name, layers=2, first=True, steps=5))
        op.ok(**{**call(gen, name), "train": True})
        for layout in LAYOUTS:
            op.ok(**call(gen, name, layout=layout))
        op.ok(**{**call(gen, name, inputs=2), "input": tensor([[[1.0, NAN], [2.0, 3.0]], [[0.5, 1.0], [-1.0, 0.0]], [[1.0, 1.0], [0.0, 2.0]]])})
        good = call(gen, name, layers=2)
        op.bad(**{**good, "num_layers": 1})
        op.bad(**{**good, "has_biases": False})
        op.bad(**{**good, "bidirectional": True})
        op.bad(**{**good, "input": gen.normal((3, 2, 5))})
        op.bad(**{**good, "input": gen.normal((3, 5, 3))})
        op.bad(**{**good, "params": good["params"][:-1]})

"""Ops with ATen's semantics, in the functions that NumPy, CuPy and JAX share.

Each takes the library and the arguments of the overload by the schema's names. Sums and functions are computed in the
wide type; the caller rounds the results to the announced types. f16 that one operation rounds once stays f16.
"""

import math

from ..refusal import need

NONE, MEAN = 0, 1


class Arrays:
    """A library: its module, the type to compute in, and the functions that have other names elsewhere."""

    def __init__(self, module, wide, erf, product):
        self.np = module
        self.wide = wide
        self.erf = erf
        self.product = product

    def widen(self, x):
        return x.astype(self.wide, copy=False)


def unary(name):
    return lambda lib, self: getattr(lib.np, name)(lib.widen(self))


def binary(name):
    return lambda lib, self, other: getattr(lib.np, name)(self, other)


def relu(lib, self):
    return lib.np.maximum(self, 0)


def sigmoid(lib, self):
    return 1 / (1 + lib.np.exp(-lib.widen(self)))


def silu(lib, self):
    x = lib.widen(self)
    return x / (1 + lib.np.exp(-x))


def gelu(lib, self, approximate):
    x = lib.widen(self)
    if approximate == "tanh":
        return 0.5 * x * (1 + lib.np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + lib.erf(x * math.sqrt(0.5)))


def add(lib, self, other, alpha):
    return self + other if alpha == 1 else lib.widen(self) + alpha * lib.widen(other)


def sub(lib, self, other, alpha):
    return add(lib, self, other, -alpha) if alpha != 1 else self - other


def where(lib, condition, self, other):
    return lib.np.where(condition, self, other)


def axes(dim):
    return tuple(dim) if dim else None


def sum_(lib, self, dim, keepdim, dtype):
    return lib.np.sum(self, axis=axes(dim), dtype=lib.wide, keepdims=keepdim)


def mean(lib, self, dim, keepdim, dtype):
    return lib.np.mean(self, axis=axes(dim), dtype=lib.wide, keepdims=keepdim)


def extreme(name):
    return lambda lib, self, dim, keepdim: getattr(lib.np, name)(self, axis=axes(dim), keepdims=keepdim)


def softmax(lib, self, dim, half_to_float):
    x = lib.widen(self)
    powers = lib.np.exp(x - lib.np.max(x, axis=dim, keepdims=True))
    return powers / lib.np.sum(powers, axis=dim, keepdims=True)


def log_softmax(lib, self, dim, half_to_float):
    x = lib.widen(self)
    x = x - lib.np.max(x, axis=dim, keepdims=True)
    return x - lib.np.log(lib.np.sum(lib.np.exp(x), axis=dim, keepdims=True))


def scaled(lib, x, weight, bias=None):
    x = x if weight is None else x * lib.widen(weight)
    return x if bias is None else x + lib.widen(bias)


def native_layer_norm(lib, input, normalized_shape, weight, bias, eps):
    x, last = lib.widen(input), tuple(range(-len(normalized_shape), 0))
    average = lib.np.mean(x, axis=last, keepdims=True)
    x = x - average
    rstd = 1 / lib.np.sqrt(lib.np.mean(x * x, axis=last, keepdims=True) + eps)
    return scaled(lib, x * rstd, weight, bias), average, rstd


def layer_norm(lib, input, normalized_shape, weight, bias, eps, cudnn_enable):
    return native_layer_norm(lib, input, normalized_shape, weight, bias, eps)[0]


def rms_norm(lib, input, normalized_shape, weight, eps):
    x, last = lib.widen(input), tuple(range(-len(normalized_shape), 0))
    eps = float(lib.np.finfo(lib.wide).eps) if eps is None else eps
    return scaled(lib, x / lib.np.sqrt(lib.np.mean(x * x, axis=last, keepdims=True) + eps), weight)


def mm(lib, self, mat2):
    return lib.product(self, mat2)


def matmul(lib, self, other):
    return lib.product(self, other)


def addmm(lib, self, mat1, mat2, beta, alpha):
    product = lib.product(mat1, mat2)
    product = product if alpha == 1 else alpha * product
    # A factor of 0 hides infinities and NaNs.
    return product if beta == 0 else product + (self if beta == 1 else beta * self)


def linear(lib, input, weight, bias):
    product = lib.product(input, weight.T)
    return product if bias is None else product + bias


def reduced(lib, losses, reduction, n):
    return losses if reduction == NONE else lib.np.sum(losses) / (n if reduction == MEAN else 1)


def mse_loss(lib, self, target, reduction):
    difference = lib.widen(self) - lib.widen(target)
    return reduced(lib, difference * difference, reduction, difference.size)


def cross_entropy_loss(lib, self, target, weight, reduction, ignore_index, label_smoothing):
    need(self.ndim == 2 and target.ndim == 1, "cross_entropy_loss is here of rows with one class each")
    need(label_smoothing == 0, "cross_entropy_loss is here without label_smoothing")
    counts = target != ignore_index
    classes = lib.np.where(counts, target, 0)
    logs = log_softmax(lib, self, 1, False)
    weights = counts.astype(lib.wide) if weight is None else lib.widen(weight)[classes] * counts
    losses = -lib.np.take_along_axis(logs, classes[:, None], axis=1)[:, 0] * weights
    return reduced(lib, lib.np.where(counts, losses, 0), reduction, lib.np.sum(weights))


OPS = {
    "relu.default": relu,
    "sigmoid.default": sigmoid,
    "silu.default": silu,
    "gelu.default": gelu,
    **{f"{name}.default": unary(name) for name in ("exp", "log", "sqrt", "tanh")},
    "add.Tensor": add,
    "sub.Tensor": sub,
    "mul.Tensor": binary("multiply"),
    "div.Tensor": binary("true_divide"),
    **{f"{name}.default": binary(name) for name in ("maximum", "minimum")},
    "where.self": where,
    "sum.dim_IntList": sum_,
    "mean.dim": mean,
    "amax.default": extreme("max"),
    "amin.default": extreme("min"),
    "_softmax.default": softmax,
    "_log_softmax.default": log_softmax,
    "layer_norm.default": layer_norm,
    "native_layer_norm.default": native_layer_norm,
    "rms_norm.default": rms_norm,
    "mm.default": mm,
    "bmm.default": mm,
    "matmul.default": matmul,
    "addmm.default": addmm,
    "linear.default": linear,
    "mse_loss.default": mse_loss,
    "cross_entropy_loss.default": cross_entropy_loss,
}

"""Ops as single nodes of ONNX: how the arguments of an ATen overload become inputs and attributes."""

import math
from dataclasses import dataclass, field

from ..refusal import need, torch

REDUCTIONS = ("none", "mean", "sum")


@dataclass
class Node:
    """A node; its inputs are arguments by name, or constants of integers."""

    kind: str
    inputs: list
    attributes: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    # Shapes that differ from the tensors': the same elements in other rows.
    shapes: dict = field(default_factory=dict)
    opset: int = 20
    domain: str = ""


def plain(kind, *inputs):
    def node(tensors, options):
        need(options.get("alpha", 1) == 1, f"onnx has {kind} without `alpha`")
        return Node(kind, list(inputs))

    return node


def gelu(tensors, options):
    return Node("Gelu", ["self"], {"approximate": options["approximate"]})


def silu(tensors, options):
    return Node("QuickGelu", ["self"], {"alpha": 1.0}, domain="com.microsoft")


def reduction(kind):
    def node(tensors, options):
        dim = options["dim"]
        constants = {"axes": list(dim)} if dim else {}
        return Node(kind, ["self", *constants], {"keepdims": int(options["keepdim"])}, constants)

    return node


def softmax(kind):
    return lambda tensors, options: Node(kind, ["self"], {"axis": options["dim"]})


def layer_norm(tensors, options):
    need("weight" in tensors, "onnx has LayerNormalization with a weight only")
    inputs = [name for name in ("input", "weight", "bias") if name in tensors]
    return Node("LayerNormalization", inputs, {"axis": -len(options["normalized_shape"]), "epsilon": options["eps"]})


def rms_norm(tensors, options):
    need("weight" in tensors, "onnx has RMSNormalization with a weight only")
    # It computes in f32 whatever the type is.
    eps = torch.finfo(torch.float32).eps if options["eps"] is None else options["eps"]
    attributes = {"axis": -len(options["normalized_shape"]), "epsilon": eps}
    return Node("RMSNormalization", ["input", "weight"], attributes, opset=23)


def addmm(tensors, options):
    alpha, beta = float(options["alpha"]), float(options["beta"])
    inputs = ["mat1", "mat2", "self"] if beta else ["mat1", "mat2"]
    return Node("Gemm", inputs, {"alpha": alpha, "beta": beta})


def linear(tensors, options):
    rows, weight = tensors["input"].shape, tensors["weight"]
    need(len(rows) >= 1 and weight.dim() == 2, "onnx has Gemm of a matrix only")
    flat = math.prod(rows[:-1])
    shapes = {"input": [flat, rows[-1]], "output0": [flat, weight.shape[0]]}
    inputs = [name for name in ("input", "weight", "bias") if name in tensors]
    return Node("Gemm", inputs, {"transB": 1}, shapes=shapes)


def cross_entropy_loss(tensors, options):
    need(not tensors["target"].is_floating_point(), "onnx has SoftmaxCrossEntropyLoss of classes only")
    need(options["label_smoothing"] == 0, "onnx has SoftmaxCrossEntropyLoss without label_smoothing")
    inputs = [name for name in ("self", "target", "weight") if name in tensors]
    attributes = {"reduction": REDUCTIONS[options["reduction"]], "ignore_index": options["ignore_index"]}
    return Node("SoftmaxCrossEntropyLoss", inputs, attributes)


OPS = {
    **{f"{name.lower()}.default": plain(name, "self") for name in ("Relu", "Sigmoid", "Exp", "Log", "Sqrt", "Tanh")},
    "gelu.default": gelu,
    "silu.default": silu,
    **{f"{name.lower()}.Tensor": plain(name, "self", "other") for name in ("Add", "Sub", "Mul", "Div")},
    "maximum.default": plain("Max", "self", "other"),
    "minimum.default": plain("Min", "self", "other"),
    "where.self": plain("Where", "condition", "self", "other"),
    "sum.dim_IntList": reduction("ReduceSum"),
    "mean.dim": reduction("ReduceMean"),
    "amax.default": reduction("ReduceMax"),
    "amin.default": reduction("ReduceMin"),
    "_softmax.default": softmax("Softmax"),
    "_log_softmax.default": softmax("LogSoftmax"),
    "layer_norm.default": layer_norm,
    "native_layer_norm.default": layer_norm,
    "rms_norm.default": rms_norm,
    "mm.default": plain("MatMul", "self", "mat2"),
    "bmm.default": plain("MatMul", "self", "mat2"),
    "matmul.default": plain("MatMul", "self", "other"),
    "addmm.default": addmm,
    "linear.default": linear,
    "cross_entropy_loss.default": cross_entropy_loss,
}

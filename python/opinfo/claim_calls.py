"""Calls for what is asked by name: aliases with their own signature, mixed and in-place types, integer pools, refusals.

    python claim_calls.py data/claim_calls.jsonl.gz"""

import collections
import gzip
import itertools
import json
import sys
import warnings

import codec
import torch
from mutated_calls import run

warnings.filterwarnings("ignore")
torch.manual_seed(15)
CALLS = []
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
R = lambda *shape, dtype=torch.float32: torch.randn(shape).to(dtype)
I = lambda *shape, dtype=torch.int64, low=-9, high=9: torch.randint(max(low, 0) if dtype == torch.uint8 else low, high, shape).to(dtype)


def call(op, *args, **kwargs):
    schema = codec.overload(f"aten.{op}")._schema
    CALLS.append((f"aten.{op}", dict(zip([a.name for a in schema.arguments], args)) | kwargs))


def aliases():
    for dtype in FLOATS:
        for shape in ([2, 3], [4, 3, 5], [2, 3, 4, 5], [3]):
            for size in {1, shape[1] if len(shape) > 1 else 1}:
                call("prelu.default", R(*shape, dtype=dtype), R(size, dtype=dtype))
        x = R(3, 4, dtype=dtype)
        for wanted in (None, *FLOATS):
            call("softmax.int", x, 1, wanted)
            call("log_softmax.int", x, -1, wanted)
            call("prod.default", x, dtype=wanted)
            call("sum.default", x, dtype=wanted)
            call("mean.default", x, dtype=wanted)
            call("cumsum.default", x, 0, dtype=wanted)
        for unbiased in (True, False):
            call("var.default", x, unbiased)
            call("std.default", x, unbiased)
            call("var.dim", x, [1], unbiased, True)
            call("std.dim", x, [0, 1], unbiased)
            call("var_mean.default", x, unbiased)
        for correction in (None, 0, 1, 2.5, 7):
            call("var.correction", x, [1], correction=correction)
            call("std_mean.correction", x, None, correction=correction, keepdim=True)
        for wanted in FLOATS + INTS + [torch.bool]:
            call("to.dtype", x * 3, wanted)
            call("to.dtype", x, wanted, False, True)
            call("_to_copy.default", x, dtype=wanted)
        for mode in ("constant", "reflect", "replicate", "circular"):
            call("pad.default", R(1, 2, 4, dtype=dtype), [1, 2], mode)
            call("pad.default", R(1, 2, 4, 5, dtype=dtype), [1, 2, 3, 0], mode)
        call("pad.default", x, [1, -1], "constant", 2.5)
        for training, cudnn in itertools.product((True, False), (True, False)):
            call("batch_norm.default", R(4, 3, 2, dtype=dtype), R(3, dtype=dtype), R(3, dtype=dtype), R(3, dtype=dtype),
                 R(3, dtype=dtype).abs(), training, 0.1, 1e-5, cudnn)
        call("tile.default", x, [2])
        call("tile.default", x, [2, 1, 3])
        call("t.default", x)
        call("t.default", x[0])
    call("t.default", R(2, 2, 2))


def types():
    kinds = FLOATS + [torch.int64, torch.uint8, torch.bool]
    make = lambda dtype: I(2, 3, dtype=torch.int64, low=0, high=2).to(dtype) if dtype in INTS + [torch.bool] else R(2, 3, dtype=dtype)
    for a, b in itertools.product(kinds, kinds):
        for op in ("add_.Tensor", "mul_.Tensor", "sub_.Tensor", "div_.Tensor", "copy_.default"):
            call(op, make(a), make(b))
        for op in ("add.Tensor", "div.Tensor", "maximum.default", "atan2.default", "xlogy.Tensor", "where.self"):
            call(op, *([make(torch.bool)] if op == "where.self" else []), make(a), make(b))
        for op in ("mse_loss.default", "l1_loss.default", "smooth_l1_loss.default", "huber_loss.default", "kl_div.default",
                   "binary_cross_entropy_with_logits.default", "soft_margin_loss.default"):
            call(op, make(a), make(b))
        call("add.Tensor", make(a), make(b)[0, 0])
        call("lerp.Scalar", make(a), make(b), 0.5)
        call("addcmul.default", make(a), make(b), make(b))
    for a, number in itertools.product(kinds, (2, 2.5, True, -1, 1e10)):
        for op in ("add.Scalar", "mul.Scalar", "div.Scalar", "sub.Scalar", "pow.Tensor_Scalar", "remainder.Scalar", "eq.Scalar", "add_.Scalar"):
            call(op, make(a), number)
        call("pow.Scalar", number, make(a))
        call("xlogy.Scalar_Other", make(a), number)
    for dtype in FLOATS:
        for weight in {dtype, torch.float32}:
            call("native_group_norm.default", R(2, 6, 5, dtype=dtype), R(6, dtype=weight), R(6, dtype=weight), 2, 6, 5, 3, 1e-5)
            call("native_layer_norm.default", R(2, 6, dtype=dtype), [6], R(6, dtype=weight), R(6, dtype=weight), 1e-5)
        call("native_group_norm.default", R(2, 6, 5, dtype=dtype), None, None, 2, 6, 5, 3, 1e-5)
        call("rms_norm.default", R(2, 6, dtype=dtype), [6], R(6, dtype=dtype))
        call("rms_norm.default", R(2, 6, dtype=dtype), [6], None, 1e-6)
    for dtype in INTS:
        low = I(1, 2, 5, 5, dtype=dtype, low=-120, high=-1) if dtype != torch.uint8 else I(1, 2, 5, 5, dtype=dtype)
        call("max_pool2d.default", low, [3, 3], [2, 2], [1, 1])
        call("max_pool2d_with_indices.default", low, [3, 3], [2, 2], [1, 1])
        call("max_pool1d.default", low[0], [3], [2], [1])
        call("max_pool3d_with_indices.default", low[None], [1, 3, 3], [1, 2, 2], [0, 1, 1])


def refusals():
    for op in ("mse_loss.default", "l1_loss.default", "smooth_l1_loss.default", "huber_loss.default", "binary_cross_entropy.default",
               "kl_div.default", "soft_margin_loss.default"):
        for shape in ([3], [1, 3], [2, 1], [3, 2], [2, 3, 1]):
            call(op, torch.rand(2, 3), torch.rand(shape))
    for size in ([5], [2, 4], [-1, 4], [-1, -1], [0, -1], [7], [-2, 3], [3, 2], [6, 1, 1], []):
        call("view.default", R(2, 3), size)
        call("view.default", R(3, 2).t(), size)
        call("reshape.default", R(3, 2).t(), size)
        call("expand.default", R(1, 3), size)
    for window, pad in itertools.product((3, 6, 7, 9, 0, -1), (0, 1, 3, 4, -1)):
        for op in ("avg_pool2d.default", "max_pool2d_with_indices.default"):
            call(op, R(1, 2, 5, 5), [window, window], [1, 1], [pad, pad])
        call("convolution.default", R(1, 2, 5, 5), R(3, 2, max(window, 0), max(window, 0)), None, [1, 1], [pad, pad], [1, 1], False, [0, 0], 1)
    for out, groups in itertools.product((0, 1, 2, 3, 4), (0, 1, 2, 3)):
        call("convolution.default", R(1, 4, 5), R(out, 4 // max(groups, 1), 2), None, [1], [0], [1], False, [0], groups)
        call("convolution.default", R(1, 4, 5), R(4, out, 2), None, [1], [0], [1], True, [0], groups)
        call("linear.default", R(2, 4), R(out, 4), R(max(out, 1)))
        call("group_norm.default", R(2, 4, 5), max(groups, 0), R(out), None)
    for rank in (63, 64, 65, 66):
        x = torch.ones([1] * rank)
        for op in ("amax.default", "amin.default", "sum.dim_IntList", "mean.dim", "logsumexp.default", "any.dims", "all.dims"):
            call(op, x, [0])
            call(op, x, list(range(rank)))
        call("argmax.default", x, 0)
        call("prod.dim_int", x, rank - 1)
    for dims in ([0, 0], [0, -2], [2], [-3], [0, 1, 0]):
        for op in ("sum.dim_IntList", "amax.default", "mean.dim", "logsumexp.default", "flip.default", "permute.default", "squeeze.dims"):
            call(op, R(2, 3), dims)


def main():
    for part in (aliases, types, refusals):
        part()
    count = collections.Counter()
    with gzip.open(sys.argv[1], "wt") as file:
        for number, (op, named) in enumerate(CALLS):
            head = {"op": op, "schema": str(codec.overload(op)._schema), "source": f"claim/{number}", "cuda": True}
            line = run(head, "", {n: codec.value(v) for n, v in named.items()})
            if line:
                del line["change"]
                line["level"] = "claim"
                count[line["status"]] += 1
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
    print(json.dumps(count), len({op for op, _ in CALLS}), "overloads")


if __name__ == "__main__":
    main()

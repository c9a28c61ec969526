"""Right and wrong implementations that many ops share, and the switches of the libraries."""

import contextlib

import torch

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
F32 = torch.float32
MATMUL = torch.backends.cuda.matmul


@contextlib.contextmanager
def relaxed(**flags):
    """Sets switches of the libraries for a while."""
    owners = {
        "tf32": [(MATMUL, "allow_tf32"), (torch.backends.cudnn, "allow_tf32")],
        "fp16_reduction": [(MATMUL, "allow_fp16_reduced_precision_reduction")],
        "bf16_reduction": [(MATMUL, "allow_bf16_reduced_precision_reduction")],
        "fp16_accumulation": [(MATMUL, "allow_fp16_accumulation")],
        "cudnn": [(torch.backends.cudnn, "enabled")],
        "benchmark": [(torch.backends.cudnn, "benchmark")],
    }
    switches = [(owner, name, value) for flag, value in flags.items() for owner, name in owners[flag]]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in switches]
    try:
        for owner, name, value in switches:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def under(run, **flags):
    def wrapped(*inputs):
        with relaxed(**flags):
            return run(*inputs)

    return wrapped


def strict_settings(_):
    MATMUL.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    MATMUL.allow_fp16_reduced_precision_reduction = False
    MATMUL.allow_bf16_reduced_precision_reduction = False


def tf32(x):
    """Rounds the inputs as TF32 does."""
    if not (torch.is_tensor(x) and x.dtype == F32):
        return x
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(F32)


def through(dtype):
    return lambda x: x.to(dtype).to(x.dtype) if torch.is_tensor(x) and x.is_floating_point() else x


def coarse(run, function):
    return lambda *inputs: run(*map(function, inputs))


def wide_then_cast(run):
    """Everything in f32, the result rounded once: what the contract asks for."""

    def wrapped(*inputs):
        out = [x for x in inputs if torch.is_tensor(x) and x.is_floating_point()][0].dtype
        return run(*[x.float() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs]).to(out)

    return wrapped


def truncated(run):
    """As `wide_then_cast`, rounded toward zero."""

    def wrapped(*inputs):
        out = inputs[0].dtype
        wide = run(*[x.float() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs])
        near = wide.to(out)
        step = torch.nextafter(near, torch.zeros_like(near))
        return torch.where(near.float().abs() > wide.abs(), step, near)

    return wrapped


def coarse_inputs(run):
    """Cheats every f32 op shares."""
    return [
        ("cheat", "TF32 inputs", coarse(run, tf32)),
        ("cheat", "f16 inputs", coarse(run, through(torch.float16))),
        ("cheat", "bf16 inputs", coarse(run, through(torch.bfloat16))),
    ]


def plain(run, dtype):
    """The library, and the cheats that fit any op of the dtype."""
    if dtype == F32:
        return [("library", "aten", run), *coarse_inputs(run)]
    return [
        ("library", "aten", run),
        ("legit", "f32, rounded once", wide_then_cast(run)),
        ("cheat", "rounded toward zero", truncated(run)),
    ]

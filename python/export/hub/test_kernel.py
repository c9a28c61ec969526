# Made by `kgen export`.
"""The cases that the kernel passed in kgen, once more beside eager PyTorch. All but the shapes need a CUDA GPU."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def arguments(module, case, device):
    make, generator = module.kernel._make, torch.Generator(device).manual_seed(0)
    return {name: make(value, generator, device) for name, value in case.items()}


@pytest.mark.kernels_ci
def test_the_op_has_its_schema(module):
    op = getattr(getattr(torch.ops, module.kernel.NAMESPACE), "OPNAME")
    assert str(op.default._schema).partition("(")[2] == module.kernel.SCHEMA[1:]


@pytest.mark.kernels_ci
def test_shapes_are_those_of_eager_pytorch(module, case):
    with FakeTensorMode():
        given = {name: fake(module, value) for name, value in case.items()}
        try:
            eager = module.kernel._call_eager(given)
        except (RuntimeError, TypeError, ValueError) as error:
            pytest.skip(f"eager PyTorch refuses it: {error}")
        got = module.OPNAME(**given)
    got = list(got) if isinstance(got, (list, tuple)) else [got]
    assert len(got) == len(eager)
    for ours, theirs in zip(got, eager):
        if theirs is not None:
            assert (ours.shape, ours.dtype, ours.device.type) == (theirs.shape, theirs.dtype, "cuda")


def fake(module, value):
    """Makes an argument whose tensors have no data, as torch.compile does."""
    if isinstance(value, dict) and "tensor" in value:
        dtype, shape, stride, _, _ = value["tensor"]
        dtype = module.kernel._TORCH[dtype]
        return torch.empty_strided(shape, stride, dtype=dtype, device="cuda")
    if isinstance(value, list):
        return [fake(module, item) for item in value]
    return module.kernel._make(value, None, "cuda")


@pytest.mark.kernels_ci
def test_outputs_are_as_right_as_those_of_eager_pytorch(module, case, gpu):
    generator = torch.Generator(gpu).manual_seed(0)
    outcome, said = module.kernel._check_case(case, generator, gpu)
    if outcome == "left out":
        pytest.skip(said)
    assert outcome == "ok", said


@pytest.mark.kernels_ci
def test_it_compiles_into_one_graph(module, gpu):
    if not module.kernel.CASES:
        pytest.skip("it has no cases")
    given = arguments(module, module.kernel.CASES[0][1], gpu)
    compiled = torch.compile(module.OPNAME, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(**given), module.OPNAME(**given), equal_nan=True)

"""Exported modules on the CPU: everything but the launch, in whose place the original's own code computes."""

import ast
import pathlib
import types
import unittest

import torch

EXPORT = pathlib.Path(__file__).resolve().parents[1] / "export"
PARTS = ("plan", "cuda", "call", "model", "accuracy", "check_model")
SOURCE = '''
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width, hidden, slope=0.1):
        super(Model, self).__init__()
        self.linear = nn.Linear(width, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.slope = slope

    def forward(self, x, scale, mask):
        x = nn.functional.leaky_relu(self.norm(self.linear(x)), self.slope) * scale
        upper = torch.triu(torch.ones(x.shape[1], x.shape[1], device=x.device), diagonal=1)
        return x @ upper, {"kept": mask.sum(), "scale": scale}

batch, width, hidden = 5, 7, 3
NAME = "a name of the original's"

def get_inputs():
    return [torch.rand(batch, width), 2.5, torch.rand(batch) < 0.5]

def get_init_inputs():
    torch.rand(3)
    return [width, hidden]
'''
MODULE = (
    ("x", "input", None, "f32", ("batch", "width")),
    ("mask", "input", None, "bool", ("batch",)),
    ("linear_weight", "path", "linear.weight", "f32", ("hidden", "width")),
    ("linear_bias", "path", "linear.bias", "f32", ("hidden",)),
    ("norm_weight", "path", "norm.weight", "f32", ("hidden",)),
    ("norm_bias", "path", "norm.bias", "f32", ("hidden",)),
    ("upper", "constant", ("triangle", 1, 1.0, 0.0, False), "f32", ("hidden", "hidden")),
)
NAMES = [part[0] for part in MODULE]
CONSTANTS = {
    "NAME": "net", "PARAMS": tuple(zip(NAMES, NAMES)), "TENSORS": tuple(NAMES), "MAIN": "x", "RETURNS_LIST": False,
    "TUNED": [], "SOURCE": "", "PLAN": "launch('k', cdiv(x.shape[0], 2), 32, args=[x, upper, out0, out1])\n",
    "PRELUDE": "", "HEADERS": {}, "MODULE": MODULE, "SCALARS": {}, "FILE": "net.py", "CLASS": "Model", "INPUTS": None,
    "TRAIN": True, "ORIGINAL": SOURCE,
}  # fmt: skip


def loaded(**changes):
    """The runtime with constants, and launches that the original computes in the place of the kernel."""
    runtime = types.ModuleType("runtime")
    vars(runtime).update({**CONSTANTS, **changes}, _DEVICE="cpu", calls=[])
    text = "\n".join((EXPORT / f"{part}.py").read_text(encoding="utf-8") for part in PARTS)
    exec(compile(text, "runtime", "exec"), vars(runtime))
    runtime._DEVICE = "cpu"

    def call_of(arguments, tensors, infer):
        layouts, result = infer()
        plan = runtime._PLAN.resolve(runtime._plan_names(arguments, layouts), runtime._tuned(arguments))
        runtime.calls.append((arguments, layouts, plan))
        x, mask, weight, bias, gain, shift, upper = tensors
        h = torch.nn.functional.batch_norm(x @ weight.T + bias, None, None, gain, shift, training=True)
        outputs = [torch.where(h > 0, h, 0.1 * h) * 2.5 @ upper, mask.sum()]
        return types.SimpleNamespace(run=lambda inputs, device: [out.detach() for out in outputs], result=result)

    runtime._call_of = call_of

    class ModelNew(runtime.Original):
        def __init__(self, *args, **kwargs):
            runtime.check_arguments(args, kwargs)
            super().__init__(*args, **kwargs)

        def forward(self, *args, **kwargs):
            return runtime.forward(self, args, kwargs)

    return runtime, ModelNew


def seeded(function, *args):
    torch.manual_seed(7)
    return function(*args)


class ExportedModel(unittest.TestCase):
    def setUp(self):
        self.runtime, self.model_class = loaded()
        self.original = seeded(self.runtime.Original, 7, 3)
        self.model = seeded(self.model_class, 7, 3)
        self.inputs = seeded(self.runtime.original.get_inputs)

    def test_parameters_and_buffers_are_the_originals(self):
        ours, theirs = self.model.state_dict(), self.original.state_dict()
        self.assertEqual(list(ours), list(theirs))
        for name, value in theirs.items():
            self.assertTrue(torch.equal(ours[name], value), name)
        self.model.load_state_dict(self.runtime.Original(7, 3).state_dict())
        self.original.load_state_dict(self.model.state_dict())

    def test_results_have_the_originals_structure_and_values(self):
        with torch.no_grad():
            expected, others = self.original(*self.inputs)
            got, ours = self.model(*self.inputs)
        torch.testing.assert_close(got, expected)
        self.assertEqual((ours["kept"], ours["scale"]), (others["kept"], 2.5))
        arguments, layouts, plan = self.runtime.calls[0]
        self.assertEqual(layouts, [((5, 3), torch.float32), ((), torch.int64)])
        self.assertEqual([arguments[name] is not None for name in NAMES], [True] * 7)
        self.assertIs(arguments["linear_weight"], self.model.linear.weight)
        self.assertEqual(plan.steps[0][:3], ("launch", "k", (3, 1, 1)))

    def test_the_originals_code_only_tells_shapes(self):
        # Running statistics would have moved.
        with torch.no_grad():
            self.model(*self.inputs)
        self.assertEqual(self.model.norm.num_batches_tracked, 0)
        self.assertTrue(torch.equal(self.model.norm.running_mean, torch.zeros(3)))

    def test_arguments_by_name_and_other_types_of_truth_values(self):
        x, scale, mask = self.inputs
        with torch.no_grad():
            expected, _ = self.model(x, scale, mask)
            got, _ = self.model(x, mask=mask.float(), scale=2.5)
        self.assertEqual(self.runtime.calls[1][0]["mask"].dtype, torch.bool)
        self.assertTrue(torch.equal(got, expected))

    def test_other_extents_are_taken_where_they_fit_together(self):
        x, scale, mask = self.inputs
        with torch.no_grad():
            got, _ = self.model(torch.rand(9, 7), scale, torch.rand(9) < 0.5)
            self.assertEqual(got.shape, (9, 3))
            with self.assertRaisesRegex(ValueError, "mask has the shape"):
                self.model(torch.rand(9, 7), scale, mask)
            with self.assertRaisesRegex(ValueError, "dimensions, not 2"):
                self.model(x[None], scale, mask)

    def test_calls_that_the_kernel_was_not_proven_for_raise(self):
        x, scale, mask = self.inputs
        for args, error, message in [
            ((x, 3.0, mask), ValueError, "2.5"),
            ((x, scale), TypeError, "takes 2 tensors, not 1"),
            ((x.half(), scale, mask), TypeError, "float16"),
        ]:
            with self.assertRaisesRegex(error, message), torch.no_grad():
                self.model(*args)
        with self.assertRaisesRegex(ValueError, "train"):
            self.model.eval()(*self.inputs)
        self.model.train().to("meta")
        with self.assertRaisesRegex(ValueError, "on meta"):
            self.model(x.to("meta"), scale, mask.to("meta"))

    def test_it_is_made_with_the_arguments_of_the_file_alone(self):
        self.model_class(width=7, hidden=3, slope=0.1)
        for args in [(7, 4), (7, 3, 0.2)]:
            with self.assertRaisesRegex(ValueError, "get_init_inputs"):
                self.model_class(*args)

    def test_a_gradient_raises(self):
        got, _ = self.model(*self.inputs)
        with self.assertRaisesRegex(NotImplementedError, "no backward pass"):
            got.sum().backward()

    def test_the_check_tells_a_wrong_kernel(self):
        self.assertTrue(self.runtime.check(self.model_class, device="cpu", verbose=False))
        honest = self.runtime._call_of

        def wrong(arguments, tensors, infer):
            call = honest(arguments, tensors, infer)
            run = call.run
            call.run = lambda inputs, device: [out + 1 for out in run(inputs, device)]
            return call

        self.runtime._call_of = wrong
        self.assertFalse(self.runtime.check(self.model_class, device="cpu", verbose=False))

    def test_parts_of_the_runtime_share_no_names(self):
        for parts in (PARTS, ("plan", "cuda", "call", "op", "gradient", "accuracy", "check")):
            trees = [ast.parse((EXPORT / f"{part}.py").read_text(encoding="utf-8")) for part in parts]
            definitions = [node.name for tree in trees for node in tree.body if hasattr(node, "name")]
            self.assertEqual(sorted(definitions), sorted(set(definitions)))

    def test_a_function_is_a_module_without_parameters(self):
        source = "import torch\ndef total(x, y): return x + y\n"
        part = ("input", None, "f32", ("n",))
        runtime, model_class = loaded(
            ORIGINAL=source, CLASS="total", INPUTS="torch.rand(3), torch.rand(3)", MODULE=(("x", *part), ("y", *part)),
            PARAMS=(("x", "x"), ("y", "y")), TENSORS=("x", "y"))  # fmt: skip
        model = model_class(*runtime.original.get_init_inputs())
        layouts, result = runtime._infer(model, [torch.rand(4)] * 2, {"x": torch.rand(4), "y": torch.rand(4)})
        self.assertEqual((layouts, result(["out"])), ([((4,), torch.float32)], "out"))
        # PyTorch would broadcast.
        with self.assertRaisesRegex(ValueError, "y has the shape"):
            runtime._infer(model, [torch.rand(4), torch.rand(1)], {"x": torch.rand(4), "y": torch.rand(1)})


if __name__ == "__main__":
    unittest.main()

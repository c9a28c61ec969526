"""The text that the side process gets of a module: its results, their f64 values and responses to roundings."""

import json
import pathlib
import unittest

import torch

PYTHON = pathlib.Path(__file__).resolve().parents[1]
SOURCE = '''
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.linear = nn.Linear(width, hidden)
        self.norm = nn.BatchNorm1d(hidden)

    def forward(self, x):
        return self.norm(self.linear(x)).relu()

batch, width, hidden = 64, 256, 512

def get_inputs():
    return [torch.rand(batch, width)]

def get_init_inputs():
    return [width, hidden]
'''
TENSORS = [["x", "input", None], ["w", "path", "linear.weight"], ["b", "path", "linear.bias"]]
PROBLEM = {"source": SOURCE, "class": "Model", "function": None, "train": True, "tensors": TENSORS,
           "variants": [{}, {"batch": 5, "width": 7, "hidden": 3}], "drawn": {},
           "extents": [["b", "width"], ["width//2", "width"], ["width//2"]]}  # fmt: skip


def run(*files, **names):
    """The names of files, put behind each other and given others, as kgen does."""
    for file in files:
        exec(compile((PYTHON / file).read_text(encoding="utf-8"), file, "exec"), names)
    return names


def loaded(problem):
    return run("wide.py", "importer/constants.py", "module.py", "reference.py", PROBLEM={"is_reference": False, **problem})


class Module(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.tensors = torch.rand(5, 7), torch.randn(3, 7), torch.randn(3)
        self.module = loaded(PROBLEM)

    def expected(self, tensors):
        x, w, b = tensors
        h = x @ w.T + b
        return torch.relu((h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt())

    def test_it_computes_with_the_tensors_it_is_given(self):
        with torch.no_grad():
            [out] = self.module["forward"](*self.tensors)
        torch.testing.assert_close(out, self.expected(self.tensors))

    def test_references_are_in_f64_with_responses_of_roundings(self):
        wide = [value.double() for value in self.tensors]
        with torch.no_grad():
            [narrow] = self.module["reference"](*self.tensors)
            exact, spread, magnitude = self.module["elements"](*self.tensors, list0=[1], list1=[14, 0, 7])
        expected = self.expected(wide)
        torch.testing.assert_close(narrow, expected.float(), rtol=0, atol=1e-7)
        torch.testing.assert_close(exact, expected.reshape(-1)[[14, 0, 7]], rtol=1e-12, atol=1e-12)
        self.assertEqual((exact.dtype, spread.dtype, magnitude.dtype), (torch.float64,) * 3)
        # A rounding of the inputs moves results by some roundings, not by none and not by thousands.
        self.assertTrue(2**-26 < spread.max() < 2**-17, spread.max())
        self.assertTrue(0.1 < magnitude.max() < 100, magnitude.max())

    def test_responses_are_kept_for_the_same_values_alone(self):
        elements, others = self.module["elements"], [value + 1 for value in self.tensors]
        with torch.no_grad():
            first = elements(*self.tensors, list0=[1], list1=[3, 4])
            # The tensors say nothing where the number is known.
            torch.testing.assert_close(elements(*others, list0=[1], list1=[4, 3]), [part.flip(0) for part in first])
            kept = elements(*others, list0=[2], list1=[3, 4])
            names = self.module
            names["elements"].__globals__["KEPT_BYTES"] = 0
            torch.testing.assert_close(elements(*others, list0=[3], list1=[3, 4]), kept)
        self.assertFalse(torch.equal(kept[0], first[0]))

    def test_a_recurrent_layer_has_the_weights_it_is_given(self):
        source = SOURCE.replace("self.linear = nn.Linear(width, hidden)", "self.linear = nn.RNN(width, hidden)")
        source = source.replace("return self.norm(self.linear(x)).relu()", "return self.linear(x)[0]").replace("self.norm", "norm")
        paths = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
        tensors = [["x", "input", None], *([path, "path", f"linear.{path}"] for path in paths)]
        module = loaded({**PROBLEM, "source": source, "tensors": tensors})
        x, w, u, b, c = torch.rand(5, 7), torch.randn(3, 7), torch.randn(3, 3), torch.randn(3), torch.randn(3)
        states, h = [], torch.zeros(3)
        for step in x:
            h = torch.tanh(step @ w.T + b + h @ u.T + c)
            states.append(h)
        with torch.no_grad():
            [out] = module["forward"](x, w, u, b, c)
        torch.testing.assert_close(out, torch.stack(states))

    def test_a_module_that_moves_its_weights_sees_the_next_values(self):
        # As cuDNN's layers do, which flatten their weights at the first call.
        moves = "self.linear.weight.data = self.linear.weight.data.clone()\n        return self.norm(self.linear(x)).relu()"
        module = loaded({**PROBLEM, "source": SOURCE.replace("return self.norm(self.linear(x)).relu()", moves)})
        with torch.no_grad():
            module["forward"](*self.tensors)
            self.tensors[1].mul_(-1)
            [out] = module["forward"](*self.tensors)
        torch.testing.assert_close(out, self.expected(self.tensors))

    def test_a_module_that_is_a_reference_converts_nothing(self):
        problem = {**PROBLEM, "source": SOURCE.replace("self.linear(x)", "self.linear(x).half().to(x.dtype)")}
        with torch.no_grad():
            exact = self.expected([value.double() for value in self.tensors])
            [kept] = loaded({**problem, "is_reference": True})["values"](*self.tensors)
            [rounded] = loaded(problem)["values"](*self.tensors)
        torch.testing.assert_close(kept, exact, rtol=1e-12, atol=1e-12)
        self.assertGreater((rounded - exact).abs().max(), 1e-6)

    def test_drawn_sizes_give_the_constants(self):
        drawn = {"batch": "b", "width": "width", "hidden": "width//2"}
        tensors = torch.rand(4, 9), torch.randn(4, 9), torch.randn(4)
        with torch.no_grad():
            [out] = loaded({**PROBLEM, "drawn": drawn})["forward"](*tensors)
        torch.testing.assert_close(out, self.expected(tensors))

    def test_other_extents_are_no_variant(self):
        with self.assertRaisesRegex(ValueError, "no variant"):
            self.module["forward"](torch.rand(5, 8), torch.randn(3, 8), torch.randn(3))


FUNCTION = """
import torch

TABLE = torch.tensor([0.5, 0.25])

def reference(x, index, *, scale=2.0):
    x.mul_(scale)
    half = x.to(torch.bfloat16) + torch.zeros(1, dtype=torch.float32)
    rows = [half[i] * TABLE[i.item() % 2] for i in index]
    return torch.stack(rows), index.sum()
"""


class Text(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x, self.index = torch.randn(4, 3), torch.tensor([2, 0, 3])

    def function(self, text=FUNCTION):
        return run("wide.py", "function.py", "reference.py", TEXT=text)

    def test_it_computes_in_f64_whatever_it_asks_for(self):
        before = self.x.clone()
        rows, total = self.function()["values"](self.x, self.index, scale=1 / 3)
        expected = before.double()[self.index] / 3 * torch.tensor([[0.5], [0.5], [0.25]]).double()
        torch.testing.assert_close(rows, expected, rtol=1e-15, atol=0)
        self.assertEqual((total.dtype, total.item()), (torch.int64, 5))
        self.assertTrue(torch.equal(self.x, before))
        self.assertEqual(torch.get_default_dtype(), torch.float32)

    def test_its_responses_to_roundings_are_measured(self):
        text = "def reference(x):\n    return (x + 1e4) - 1e4"
        x = torch.ones(1000)
        [spread] = self.function(text)["spread"](x)
        [magnitude] = self.function(text)["magnitude"](x)
        self.assertTrue(2**-25 < spread.mean() < 2**-22, spread.mean())
        self.assertTrue(5e3 < magnitude.mean() < 2e4, magnitude.mean())

    def test_responses_are_weighed_by_the_longest_sum(self):
        x = torch.randn(4, 1024)
        for code, weight in [
            ("x.sum(1)", 32.0),
            ("torch.softmax(x, 1)", 32.0),
            ("x @ x.T", 32.0 + 1024 / 32),
            ("torch.conv1d(x[None, :, :64], x[:, None, :8].expand(4, 4, 8))", 32**0.5 + 1),
            ("x * 2", 1.0),
        ]:
            function = self.function(f"import torch\ndef reference(x):\n    return {code}")
            _, found = function["weighed"]([x], {})
            self.assertAlmostEqual(found, weight, msg=code)
        text = "def reference(x):\n    return x.sum(1)"
        [scale] = self.function(text)["magnitude"](x)
        self.assertTrue(torch.all(scale >= 32 * x.double().sum(1).abs()))

    def test_changes_of_large_tensors_are_as_those_of_small_ones(self):
        function = self.function("def reference(x):\n    return x")
        generator = torch.Generator("cpu").manual_seed(3)
        for n in (1000, 5000):
            function["Noise"].apply.__globals__["CHUNK"] = 1024
            value = torch.ones(n, dtype=torch.float64)
            function["Noise"](function["within_two"], generator).apply(value)
            change = (value - 1) / 2**-24
            self.assertTrue(1.05 < change.std() < 1.25 and change.abs().max() <= 2, change.std())
            self.assertFalse(torch.equal(change[:500], change[500:1000]))
            value = torch.ones(n, dtype=torch.float64)
            function["Noise"](function["signs"], generator).apply(value)
            self.assertTrue(torch.equal(((value - 1) / 2**-24).abs(), torch.ones(n, dtype=torch.float64)))

    def test_a_second_look_sees_where_a_result_bends_and_agrees_elsewhere(self):
        # The third is 0 for roundings of f32, and moves when a factor is one of TF32.
        x = torch.tensor([2.0, 3.0, 0.9999])
        function = self.function("def reference(x):\n    return (x - 1).relu() + 0 * x")
        places = {"list1": [0, 1, 2]}
        _, first, _ = function["elements"](x, list0=[1], **places)
        _, second, scale = function["elements"](x, list0=[2, 200, 8192], **places)
        _, fine, _ = function["elements"](x, list0=[3, 200, 0], **places)
        expected = x[:2].double() * 2 / 3**0.5 * 2**-24
        torch.testing.assert_close(fine[:2], expected, rtol=0.15, atol=0)
        self.assertTrue(torch.all((second / expected.mean())[:2] > 0.5) and first[2] == fine[2] == 0)
        self.assertTrue(1e-9 < second[2] < 1e-7, second)
        self.assertTrue(torch.all(scale[:2] >= x[:2] - 1))

    def test_what_cannot_be_a_reference_is_refused(self):
        for text, message in [
            ("import torch\ndef reference(x):\n    return x + torch.rand(1)", "two runs"),
            ("def reference(x):\n    return 1.0", "returns a float"),
            ("reference = 3", "no function"),
            ("def reference(x:", "was never closed"),
        ]:
            with self.assertRaisesRegex((ValueError, TypeError, NameError, SyntaxError), message):
                self.function(text)["values"](self.x)

    def test_a_function_that_writes_into_its_arguments_is_not_timed(self):
        with self.assertRaisesRegex(RuntimeError, "writes into its arguments"):
            self.function()["forward"](self.x, self.index)


if __name__ == "__main__":
    unittest.main()

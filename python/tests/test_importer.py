"""The tracer of `kgen import` from outside, on the CPU.

    python -m unittest discover -s python/tests
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

PYTHON = pathlib.Path(__file__).resolve().parents[1]

HEAD = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
"""
NO_INIT = """
def get_init_inputs():
    return []
"""


def plain(forward, *, inputs="torch.rand(batch, n)", init="pass", constants="batch = 128\nn = 640", arguments="x"):
    """A file with one module."""
    body = f"""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
{textwrap.indent(textwrap.dedent(init).strip(), " " * 8)}
    def forward(self, {arguments}):
{textwrap.indent(textwrap.dedent(forward).strip(), " " * 8)}

{constants}

def get_inputs():
    return [{inputs}]
"""
    return HEAD + body + NO_INIT


DROPOUT = plain("return self.drop(x)", init="self.drop = nn.Dropout(0.3)")
MASK = "self.register_buffer('mask', torch.tril(torch.ones(n, n)))"
SQUARE = "torch.rand(n, n)"
STATE = "self.register_buffer('b', torch.zeros(640))"
DROP = plain("return torch.relu(self.drop(x))", init="self.drop = nn.Dropout(0.3)")
CONV = "self.conv = nn.Conv2d(channels, 2 * channels, 3, groups=4); self.norm = nn.BatchNorm2d(2 * channels)"
CONV_SIZES = "batch = 64\nchannels = 32\nheight = width = 96"

FILES = {
    "linear": plain("return torch.relu_(self.fc(x))", init="self.fc = nn.Linear(n, 512)"),
    "conv": plain(
        "return self.norm(self.conv(x))",
        init=CONV,
        constants=CONV_SIZES,
        inputs="torch.rand(batch, channels, height, width)",
    ),
    "mask": plain("return x.masked_fill(self.mask == 0, -math.inf)", init=MASK, constants="n = 96", inputs=SQUARE),
    "write": plain("x = x.clone(); x[:, 0] = 1.0; y = x[:, 1]; x[:, 1].mul_(2); return x + y.unsqueeze(1)"),
    "filled": plain("out = torch.zeros(batch, n); out[:, 1] = x[:, 2]; return out.sum(1)"),
    "folded": plain("m = torch.triu(torch.ones(n, n), 1); return x @ m + torch.arange(n)"),
    "large_zeros": plain("return torch.cat([torch.zeros_like(x), x], 1)", constants="batch = 65536\nn = 65536"),
    "casts": plain("return x.float().contiguous().to(torch.float16).float().detach()"),
    "splits": plain("a, b = x.chunk(2, 1); v, i = (a * b).max(1); return v, i"),
    "draws": plain(
        "return (x * mask + self.p * y).sum() + self.state.sum()",
        init="self.p = nn.Parameter(0.02 * torch.randn(n) + 1)\nself.state = torch.randn(n)",
        inputs="torch.randn(batch, n).abs(), torch.rand(batch, n) > 0.25, torch.randint(0, 2, (n,)).float() * 2 - 1",
        arguments="x, mask, y",
    ),
    "triangle": plain("return x @ x", constants="n = 256", inputs="torch.triu(torch.rand(n, n))"),
    "tied": plain("return x + self.w", init="self.w = nn.Parameter(torch.zeros(512))", constants="batch = 64\nn = 512"),
    "heads": plain("return x.view(batch, 8, n // 8).softmax(-1).transpose(1, 2)", constants="batch = 64\nn = 768"),
    "loop": plain("for i in range(steps): x = torch.tanh(x)\nreturn x", constants="batch = 64\nn = 768\nsteps = 70"),
    "odd": plain("return x * 2 if x.shape[1] % 2 else x + 2", constants="batch = 60\nn = 770"),
    "lstm": plain("return self.lstm(x)[0]", init="self.lstm = nn.LSTM(n, 96)", inputs="torch.rand(64, batch, n)"),
}
SHOWN = {"noisy": plain("print('hello'); return x + 1", init="import os; os.system('echo loud')")}
REFUSED = {
    "syntax": ("def f(:\n    pass\n", "syntax error", 1),
    "no_model": ("import torch\ndef get_inputs():\n    return []\n" + NO_INIT, "no class Model", None),
    "no_inputs": (HEAD + "class Model(nn.Module):\n    pass\n" + NO_INIT, "no function get_inputs", None),
    "inputs_raise": (plain("return x", inputs="1 / 0"), "get_inputs() fails: ZeroDivisionError", 18),
    "nested": (plain("return x[0]", inputs="[torch.rand(3), torch.rand(3)]"), "list of tensors for `x`", None),
    "dropout": (DROPOUT, "import with --eval", 12),
    "random": (plain("return x + torch.rand_like(x)"), "draws random numbers: aten.rand_like", 12),
    "reads": (plain("return x * 2 if x.sum() > 0 else x"), "depends on values", 12),
    "fails": (plain("return x @ x"), "aten.matmul", 12),
    "state": (plain("self.b.add_(1); return x + self.b", init=STATE), "changes its buffer b", None),
    "formula": (plain("return torch.sin(torch.arange(5000)) * x.sum()"), "formula", None),
    "exits": (HEAD + "raise SystemExit(2)\n", "SystemExit", None),
}


def imported(folder, files, **options):
    """What trace.py says of the files, by name."""
    spec = {"files": [], "function": None, **options}
    for name, text in files.items():
        path = os.path.join(folder, f"{name}.py")
        pathlib.Path(path).write_text(text, encoding="utf-8")
        spec["files"].append({"path": path, "class": "Model", "name": name})
    spec_path = os.path.join(folder, "spec.json")
    pathlib.Path(spec_path).write_text(json.dumps(spec), encoding="utf-8")
    command = [sys.executable, str(PYTHON / "importer" / "trace.py"), folder, spec_path]
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=True)
    return {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}


def setUpModule():
    global FOLDER, SAID
    folder = tempfile.TemporaryDirectory(prefix="kgen-import-")
    unittest.addModuleCleanup(folder.cleanup)
    FOLDER = folder.name
    SAID = imported(FOLDER, {**FILES, **SHOWN, **{name: text for name, (text, _, _) in REFUSED.items()}})


def problem(name):
    return json.loads(pathlib.Path(FOLDER, f"{name}.json").read_text(encoding="utf-8"))


class Import(unittest.TestCase):
    def original(self, name):
        self.assertTrue(SAID[name]["ok"], SAID[name])
        self.record = problem(name)
        self.variant = self.record["variants"][0]
        return self.variant

    def targets(self, name):
        return [node["target"].removeprefix("aten.") for node in self.original(name)["nodes"]]

    def tensors(self, name):
        return {tensor["name"]: tensor for tensor in self.original(name)["tensors"]}

    def small(self, name):
        self.original(name)
        return [v for v in self.record["variants"] if v["role"] == "small"]

    def test_every_accepted_file_has_small_variants_that_were_checked(self):
        for name in FILES:
            small = self.small(name)
            self.assertGreaterEqual(len(small), 1 if name == "conv" else 2, name)
            for variant in small:
                self.assertTrue(variant["check"], (name, self.record["notes"]))
                self.assertTrue(variant["check"]["outputs"])
                self.assertLess(variant["work"], 10_000_000, name)

    def test_files_are_refused_with_reason_and_line(self):
        for name, (_, text, line) in REFUSED.items():
            self.assertFalse(SAID[name]["ok"], name)
            self.assertIn(text, SAID[name]["error"])
            self.assertNotIn("\n", SAID[name]["error"])
            if line:
                self.assertEqual(SAID[name]["line"], line, SAID[name])

    def test_output_of_the_file_is_not_on_stdout(self):
        self.assertTrue(SAID["noisy"]["ok"])

    def test_composites_stay_and_in_place_ops_become_functional(self):
        self.assertEqual(self.targets("linear"), ["linear.default", "relu.default"])
        tensors = self.tensors("linear")
        self.assertEqual(list(tensors), ["x", "fc_weight", "fc_bias"])
        init = tensors["fc_weight"]["init"]
        self.assertEqual(init["kind"], "uniform")
        self.assertAlmostEqual(init["high"], 1 / 640**0.5)
        self.assertEqual(tensors["x"]["init"], {"kind": "uniform", "low": 0.0, "high": 1.0})

    def test_running_statistics_are_left_out(self):
        self.assertEqual(self.targets("conv"), ["conv2d.default", "batch_norm.default"])
        self.assertIn("running statistics are not outputs", self.record["notes"])
        self.assertEqual(self.tensors("conv")["norm_weight"]["init"], {"kind": "fill", "value": 1.0})
        self.assertNotIn("norm_running_mean", self.tensors("conv"))
        for variant in self.small("conv"):
            self.assertEqual(variant["constants"]["channels"] % 4, 0)
            self.assertNotEqual(variant["constants"]["height"], variant["constants"]["width"])

    def test_buffers_have_a_formula(self):
        mask = self.tensors("mask")["mask"]
        self.assertEqual(mask["kind"], "buffer")
        self.assertEqual(mask["init"], {"kind": "tril", "diagonal": 0, "inside": 1.0, "outside": 0.0})

    def test_writes_into_views_reach_their_base_and_its_views(self):
        targets = self.targets("write")
        self.assertIn("select_scatter.default", targets)
        self.assertFalse([t for t in targets if t.split(".")[0].endswith("_")])
        self.assertIn("select_scatter.default", self.targets("filled"))

    def test_constants_are_folded(self):
        self.assertEqual(self.targets("folded"), ["matmul.default", "add.Tensor"])
        inits = [t["init"]["kind"] for t in self.variant["tensors"] if t["kind"] == "constant"]
        self.assertEqual(inits, ["triu", "arange"])
        constant = self.tensors("large_zeros")["constant"]
        self.assertEqual((constant["init"], constant["shape"]), ({"kind": "fill", "value": 0.0}, [65536, 65536]))

    def test_no_ops_vanish(self):
        self.assertEqual(self.targets("casts"), ["to.dtype", "to.dtype"])
        self.assertEqual(self.variant["nodes"][0]["args"][1], {"dtype": "f16"})

    def test_outputs_of_ops_are_indexed(self):
        self.assertEqual(self.targets("splits"), ["chunk.default", "mul.Tensor", "max.dim"])
        self.assertEqual(self.variant["nodes"][1]["args"], [{"tensor": "chunk", "index": i} for i in (0, 1)])
        self.assertEqual(self.variant["outputs"], [{"tensor": "max", "index": i} for i in (0, 1)])
        self.assertEqual([o["dtype"] for o in self.variant["nodes"][2]["outputs"]], ["f32", "i64"])

    def test_draws_are_followed_or_measured(self):
        tensors = self.tensors("draws")
        self.assertEqual(tensors["p"]["init"], {"kind": "normal", "mean": 1.0, "std": 0.02})
        self.assertEqual(tensors["state"]["kind"], "constant")
        self.assertEqual(tensors["state"]["init"]["kind"], "normal")
        self.assertEqual(tensors["mask"]["init"], {"kind": "bernoulli", "p": 0.75})
        self.assertEqual(tensors["y"]["init"], {"kind": "integers", "low": 0, "high": 2, "scale": 2, "offset": -1})
        self.assertTrue(tensors["x"]["init"]["measured"])
        self.assertEqual(self.tensors("triangle")["x"]["init"]["structure"], "upper")

    def test_constants_vary_as_far_as_the_graph_allows(self):
        self.original("tied")
        self.assertEqual(self.record["constants"], ["batch"])
        self.assertTrue(all(v["constants"]["n"] % 8 == 0 for v in self.small("heads")))
        self.assertTrue(all(v["constants"]["steps"] == 70 for v in self.small("loop")))
        self.assertEqual(len({v["constants"]["n"] for v in self.small("loop")}), len(self.small("loop")))

    def drawn(self, name):
        self.original(name)
        return [v["constants"] for v in self.record["variants"] if v["role"] == "drawn"]

    def test_sizes_vary_alone_and_together_and_are_checked(self):
        drawn, [base, *_] = self.drawn("linear"), self.small("linear")
        changed = [{k for k in base["constants"] if v[k] != base["constants"][k]} for v in drawn]
        self.assertTrue({"batch"} in changed and {"n"} in changed, drawn)
        self.assertGreaterEqual(changed.count({"batch", "n"}), 2, drawn)
        self.assertTrue(all(v["check"] for v in self.record["variants"] if v["role"] == "drawn"))
        self.assertIn(1, [v["batch"] for v in drawn])

    def test_sizes_that_are_multiples_or_change_the_graph_do_not_vary(self):
        for name, fixed in (("conv", "channels"), ("heads", "n"), ("odd", "n"), ("loop", "steps")):
            self.assertEqual(len({v[fixed] for v in self.drawn(name)}), 1, (name, self.drawn(name)))
            self.assertGreater(len({v["batch"] for v in self.drawn(name)}), 1, name)
        # A mask of one element has another formula.
        self.assertGreater(min(v["n"] for v in self.drawn("mask")), 1)

    def test_equal_files_have_equal_versions(self):
        drawn = self.drawn("conv")
        with tempfile.TemporaryDirectory(prefix="kgen-import-") as folder:
            imported(folder, {"conv": FILES["conv"]})
            record = json.loads(pathlib.Path(folder, "conv.json").read_text(encoding="utf-8"))
        self.assertEqual([v["constants"] for v in record["variants"] if v["role"] == "drawn"], drawn)

    def test_recurrent_layers_are_one_node(self):
        self.assertEqual(self.targets("lstm"), ["lstm.input"])
        self.assertEqual(len(self.variant["nodes"][0]["args"][2]["list"]), 4)

    def test_eval_mode_drops_dropout(self):
        with tempfile.TemporaryDirectory(prefix="kgen-import-") as folder:
            said = imported(folder, {"drop": DROP}, eval=True)
            self.assertTrue(said["drop"]["ok"], said)
            record = json.loads(pathlib.Path(folder, "drop.json").read_text(encoding="utf-8"))
        self.assertFalse(record["train"])
        self.assertEqual([n["target"] for n in record["variants"][0]["nodes"]], ["aten.relu.default"])

    def test_a_module_without_a_graph_is_its_own_reference_where_that_is_asked_for(self):
        files = {
            "counted": plain("n = int((x > 0.5).sum().item())\nreturn x + n, x[0]"),
            "table": plain("return x * self.t", init="self.register_buffer('t', (torch.arange(n) ** 2 % 97).float())", constants="batch = 8\nn = 6000"),
            "random": plain("return x + torch.rand_like(x)"),
            "fails": plain("return x[x.sum().item():]"),
            "graph": plain("return x + 1"),
        }  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="kgen-import-") as folder:
            said = imported(folder, files, python_reference=True)
            records = {n: json.loads(pathlib.Path(folder, f"{n}.json").read_text()) for n in files if said[n]["ok"]}
            self.assertFalse(imported(folder, {"counted": files["counted"]})["counted"]["ok"])
        self.assertEqual(set(records), {"counted", "table", "graph"}, said)
        self.assertIn("other results each time", said["random"]["error"])
        self.assertIn("forward fails", said["fails"]["error"])
        self.assertIsNotNone(said["fails"]["line"])
        first = records["counted"]["variants"][0]
        self.assertEqual([r["shape"] for r in first["results"]], [[128, 640], [640]])
        self.assertEqual((first["nodes"], first["outputs"], first["check"]), ([], [], None))
        roles = {variant["role"] for variant in records["counted"]["variants"]}
        self.assertLessEqual({"small", "drawn"}, roles)
        self.assertEqual([t["name"] for t in records["table"]["variants"][0]["tensors"]], ["x"])
        self.assertTrue(any("table of the module" in note for note in records["table"]["notes"]))
        self.assertTrue(records["graph"]["variants"][0]["nodes"])

    def test_a_function_is_a_problem(self):
        with tempfile.TemporaryDirectory(prefix="kgen-import-") as folder:
            path = os.path.join(folder, "f.py")
            pathlib.Path(path).write_text("import torch\ndef f(a, b):\n    return torch.sin(a) + b\n", encoding="utf-8")
            function = {"path": path, "name": "f", "inputs": "(torch.rand(512, 300), torch.randn(300))"}
            said = imported(folder, {}, function=function)
            self.assertTrue(said["f"]["ok"], said)
            record = json.loads(pathlib.Path(folder, "f.json").read_text(encoding="utf-8"))
        self.assertEqual((record["kind"], record["class"]), ("function", "f"))
        self.assertEqual([t["name"] for t in record["variants"][0]["tensors"]], ["a", "b"])
        self.assertGreater(len(record["variants"]), 2)

    def test_a_file_has_a_time_limit(self):
        with tempfile.TemporaryDirectory(prefix="kgen-import-") as folder:
            said = imported(folder, {"slow": "while True:\n    pass\n", "fast": plain("return x + 1")}, limit_s=4)
        self.assertEqual((said["slow"]["ok"], said["slow"]["error"]), (False, "no result within 4 s"))
        self.assertTrue(said["fast"]["ok"])


if __name__ == "__main__":
    unittest.main()

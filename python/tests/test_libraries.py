"""Ops of other libraries against PyTorch, through the side process; libraries that are not installed are skipped.

    python -m unittest discover -s python/tests -p test_libraries.py

On the CPU, or on the device that KGEN_TEST_DEVICE names, such as `cuda:0`, where CuPy is tried too.
"""

import importlib.util
import os
import struct
import unittest

from client import Client, Process, stored

DEVICE = os.environ.get("KGEN_TEST_DEVICE", "cpu")
PACKAGES = {"jax": ["jax"], "cupy": ["cupy"], "onnxruntime": ["onnxruntime", "onnx"]}
FLUSH = {"kind": "none", "bytes": 0}
BOUNDS = {"f64": 1e-12, "f32": 2e-6, "f16": 2e-3, "bf16": 2e-2}
HAS_TORCH = importlib.util.find_spec("torch") is not None


def installed(impl):
    return all(importlib.util.find_spec(package) for package in PACKAGES[impl])


def on_device(impl):
    if impl == "cupy":
        return DEVICE != "cpu"
    return impl != "onnxruntime" or DEVICE == "cpu" or "CUDAExecutionProvider" in providers()


def providers():
    import onnxruntime

    return onnxruntime.get_available_providers()


def setUpModule():
    global PROCESS
    if not HAS_TORCH:
        raise unittest.SkipTest("torch is not installed")
    PROCESS = Process(device=DEVICE)
    unittest.addModuleCleanup(PROCESS.end)
    ready = PROCESS.first_line()
    assert "ready" in ready, ready


X = ("self", (3, 5))
PAIR = [X, ("other", (3, 5))]
ROW = [X, ("other", (5,))]
NORM = [("input", (4, 6)), ("weight", (6,)), ("bias", (6,))]
SHAPE = {"normalized_shape": {"ints": [6]}}
EPS = {"eps": {"float": 1e-5}}
DIM = {"dim": {"int": -1}, "half_to_float": {"bool": False}}
KEPT = {"dim": {"ints": [1]}, "keepdim": {"bool": True}}
ALL = {"dim": {"ints": []}}
PRODUCT = [("self", (4, 6)), ("mat2", (6, 3))]
ADDED = [("self", (3,)), ("mat1", (4, 6)), ("mat2", (6, 3))]
CLASSES = [("self", (4, 6)), ("target", (4,))]

# Overload, tensors with their shapes, other arguments.
CASES = [
    *((f"{name}.default", [X], {}) for name in "relu gelu silu sigmoid tanh exp".split()),
    *((f"{name}.default", [("positive", (3, 5))], {}) for name in ("log", "sqrt")),
    ("gelu.default", [X], {"approximate": {"str": "tanh"}}),
    *((f"{name}.Tensor", tensors, {}) for name in "add sub mul div".split() for tensors in (PAIR, ROW)),
    *((f"{name}.Tensor", PAIR, {"alpha": {"float": 0.5}}) for name in ("add", "sub")),
    *((f"{name}.default", PAIR, {}) for name in ("maximum", "minimum")),
    ("where.self", [("condition", (3, 5)), *PAIR], {}),
    *((name, [X], options) for name in ("sum.dim_IntList", "mean.dim", "amax.default") for options in (KEPT, ALL)),
    ("amin.default", [X], KEPT),
    ("sum.dim_IntList", [("self", (3, 5, 2))], {"dim": {"ints": [0, -1]}}),
    *((name, [X], DIM) for name in ("_softmax.default", "_log_softmax.default")),
    ("_softmax.default", [X], {**DIM, "dim": {"int": 0}}),
    ("layer_norm.default", NORM, SHAPE),
    ("layer_norm.default", NORM[:2], {**SHAPE, **EPS}),
    ("layer_norm.default", NORM[:1], SHAPE),
    ("native_layer_norm.default", NORM, {**SHAPE, **EPS}),
    ("rms_norm.default", NORM[:2], {**SHAPE, **EPS}),
    ("rms_norm.default", NORM[:1], SHAPE),
    ("mm.default", PRODUCT, {}),
    ("matmul.default", [("self", (4, 6)), ("other", (6, 3))], {}),
    ("bmm.default", [("self", (2, 4, 6)), ("mat2", (2, 6, 3))], {}),
    ("addmm.default", ADDED, {}),
    ("addmm.default", ADDED, {"beta": {"float": 0.5}, "alpha": {"int": 2}}),
    ("addmm.default", ADDED, {"beta": {"int": 0}}),
    ("linear.default", [("input", (2, 4, 6)), ("weight", (3, 6)), ("bias", (3,))], {}),
    ("linear.default", [("input", (4, 6)), ("weight", (3, 6))], {}),
    *(("mse_loss.default", [X, ("target_values", (3, 5))], {"reduction": {"int": of}}) for of in range(3)),
    *(("cross_entropy_loss.default", CLASSES, {"reduction": {"int": of}}) for of in range(3)),
    ("cross_entropy_loss.default", [*CLASSES, ("weight", (6,))], {"ignore_index": {"int": 2}}),
]
# Names of values that are not drawn as others are.
CALLED = {"positive": "self", "target_values": "target"}

# Ops that are tried in f64 too.
IN_F64 = ("gelu.default", "sum.dim_IntList", "mm.default", "native_layer_norm.default")

# Kernels that keep f32 constants for f64.
ROUGH = (("onnxruntime", "gelu.default", "f64"),)


class Case:
    """A case with its tensors in files, and PyTorch's answer in f64."""

    def __init__(self, client, overload, tensors, options, dtype):
        import torch

        torch.manual_seed(0)
        self.overload, self.client = overload, client
        self.args, call = [], {}
        for name, shape in tensors:
            value = drawn(name, shape)
            value = value.to(torch_dtype(dtype)) if value.is_floating_point() else value
            name = CALLED.get(name, name)
            self.args.append([name, {"tensor": self.tensor(value)}])
            call[name] = value.double() if value.is_floating_point() else value
        self.args += [[name, value] for name, value in options.items()]
        call |= {name: value for name, [value] in ((name, list(form.values())) for name, form in options.items())}
        results = operator(overload)(**complete(overload, call))
        results = results if isinstance(results, tuple) else (results,)
        # Statistics of f16 and bf16 are f32.
        types = [dtype] + [dtype if dtype == "f64" else "f32"] * (len(results) - 1)
        self.wanted = [result.to(torch_dtype(of)).double() for result, of in zip(results, types)]
        self.outputs = [self.output(result.shape, of) for result, of in zip(results, types)]

    def tensor(self, value):
        import torch

        raw = value.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        return {"dtype": kgen_dtype(value), "shape": list(value.shape), "at": self.client.place(raw)}

    def output(self, shape, dtype):
        n_bytes = shape.numel() * torch_dtype(dtype).itemsize
        return {"dtype": dtype, "shape": list(shape), "at": self.client.place(b"\xff" * n_bytes)}

    def prepare(self, impl):
        op, _, _ = self.overload.partition(".")
        return self.client.prepare(op, self.args, self.outputs, impl=impl, aten=self.overload)

    def found(self):
        import torch

        pairs = ((stored(of["at"]), of) for of in self.outputs)
        flat = (torch.frombuffer(bytearray(raw), dtype=torch_dtype(of["dtype"])).double() for raw, of in pairs)
        return [values.view(of["shape"]) for values, of in zip(flat, self.outputs)]


def torch_dtype(name):
    import torch

    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "bool": "bool"}
    return getattr(torch, names[name])


def kgen_dtype(value):
    return next(name for name in (*BOUNDS, "i64", "bool") if torch_dtype(name) == value.dtype)


def drawn(name, shape):
    import torch

    if name == "condition":
        return torch.rand(shape) < 0.5
    if name == "target":
        return torch.randint(0, 6, shape)
    values = torch.randn(shape)
    return values.abs() + 0.1 if name == "positive" else values


def operator(overload):
    import torch

    base, _, name = overload.partition(".")
    return getattr(getattr(torch.ops.aten, base), name)


def complete(overload, call):
    """The arguments with the schema's defaults, of which some have none: optional tensors."""
    arguments = operator(overload)._schema.arguments
    return {argument.name: call.get(argument.name, argument.default_value) for argument in arguments}


def mapped(process, impl):
    """Whether a process has a shared library of a package in memory."""
    folder = {"jax": "/jaxlib/"}.get(impl, f"/{impl}/")
    with open(f"/proc/{process.child.pid}/maps", encoding="utf-8") as maps:
        return any(folder in line for line in maps)


class Libraries(unittest.TestCase):
    def setUp(self):
        self.client = Client(PROCESS)
        self.addCleanup(self.client.close)

    def refused(self, reply, kind, part=""):
        self.assertIn("error", reply)
        self.assertEqual(reply["error"]["kind"], kind, reply)
        self.assertIn(part, reply["error"]["message"])

    def libraries(self):
        """Each library that can be tried here, as a subtest."""
        found = [impl for impl in PACKAGES if installed(impl) and on_device(impl)]
        if not found:
            self.skipTest("no library is installed")
        for impl in found:
            with self.subTest(impl=impl):
                yield impl

    def test_every_op_gives_what_torch_gives(self):
        for impl in self.libraries():
            left = set(self.client.ok("offers", impl=impl)["ops"])
            for overload, tensors, options in CASES:
                for dtype in BOUNDS if overload in IN_F64 else ("f32", "f16", "bf16"):
                    with self.subTest(op=overload, dtype=dtype, options=options):
                        if self.agrees(impl, Case(self.client, overload, tensors, options, dtype)):
                            left.discard(overload)
            self.assertEqual(left, set())

    def agrees(self, impl, case):
        import torch

        dtype = case.outputs[0]["dtype"]
        reply = case.prepare(impl)
        if "error" in reply:
            self.refused(reply, "unsupported")
            self.assertTrue(impl == "onnxruntime" or (impl, dtype) == ("cupy", "bf16"), reply)
            return False
        handle = reply["ok"]["handle"]
        self.client.ok("run", handle=handle)
        self.client.ok("drop", handle=handle)
        bound = BOUNDS["f32" if (impl, case.overload, dtype) in ROUGH else dtype]
        for found, wanted in zip(case.found(), case.wanted, strict=True):
            close = torch.allclose(found, wanted, rtol=bound, atol=bound)
            self.assertTrue(close, (found, wanted))
        return True

    def relu(self, impl):
        """A case of relu, prepared."""
        case = Case(self.client, "relu.default", [X], {}, "f32")
        return case, self.client_ok(case.prepare(impl))["handle"]

    def client_ok(self, reply):
        self.assertIn("ok", reply)
        return reply["ok"]

    def test_inputs_are_shared_and_read_again_by_each_run(self):
        for impl in self.libraries():
            case, handle = self.relu(impl)
            place = case.args[0][1]["tensor"]["at"]
            with open(place["shm"], "r+b") as file:
                file.seek(place["byte_offset"])
                file.write(struct.pack("<15f", *range(-7, 8)))
            self.client.ok("run", handle=handle)
            self.assertEqual(case.found()[0].view(-1).tolist(), [max(i, 0) for i in range(-7, 8)])

    def test_times_say_by_which_clock(self):
        for impl in self.libraries():
            handle = self.relu(impl)[1]
            reply = self.client.ok("time", handle=handle, samples=3, warm_up=1, flush=FLUSH)
            self.assertEqual((len(reply["us"]), reply["clock"]), (3, "host" if DEVICE == "cpu" else "event"))
            self.assertTrue(all(t > 0 for t in reply["us"]))

    def test_a_loop_lasts_as_long_as_asked_and_memory_is_counted_on_a_gpu(self):
        for impl in self.libraries():
            handle = self.relu(impl)[1]
            reply = self.client.ok("loop", handle=handle, seconds=0.05)
            self.assertGreater(reply["calls"], 1)
            self.assertGreaterEqual(reply["seconds"], 0.05)
            use = self.client.ok("memory", handle=handle)
            if DEVICE == "cpu" or impl == "onnxruntime":
                self.assertEqual(use, {"peak_bytes": None, "workspace_bytes": None})
            else:
                self.assertGreaterEqual(use["peak_bytes"], use["workspace_bytes"] + 60)

    def test_arguments_that_are_not_covered_are_refused_with_the_reason(self):
        for impl in self.libraries():
            mixed = Case(self.client, "add.Tensor", PAIR, {}, "f32")
            mixed.args[1] = Case(self.client, "add.Tensor", PAIR, {}, "f16").args[1]
            self.refused(mixed.prepare(impl), "unsupported", "one element type, not with f16 and f32")
            for overload, tensors in (("acos.default", [X]), ("add.Scalar", [X])):
                case = Case(self.client, "relu.default", tensors, {}, "f32")
                case.overload = overload
                self.refused(case.prepare(impl), "unsupported", f"{impl} has no {overload}")
            cast = Case(self.client, "sum.dim_IntList", [X], KEPT, "f32")
            cast.args.append(["dtype", {"dtype": "f16"}])
            self.refused(cast.prepare(impl), "unsupported", "`dtype`")
            options = {"label_smoothing": {"float": 0.1}}
            smoothed = Case(self.client, "cross_entropy_loss.default", CLASSES, options, "f32")
            self.refused(smoothed.prepare(impl), "unsupported", "label_smoothing")

    @unittest.skipIf(DEVICE == "cpu", "memory is counted on a GPU")
    def test_memory_of_torch_is_its_outputs_and_workspace(self):
        for overload, tensors, options, workspace in [
            ("relu.default", [X], {}, 0),
            ("layer_norm.default", NORM, SHAPE, 1024),
        ]:
            handle = self.client_ok(Case(self.client, overload, tensors, options, "f32").prepare("aten"))["handle"]
            use = self.client.ok("memory", handle=handle)
            self.assertEqual(use, {"peak_bytes": 512 + workspace, "workspace_bytes": workspace})

    @unittest.skipIf(DEVICE == "cpu", "memory is counted on a GPU")
    def test_a_loop_does_not_overrun_where_calls_are_long(self):
        big = [("self", (4096, 4096)), ("mat2", (4096, 4096))]
        handle = self.client_ok(Case(self.client, "mm.default", big, {}, "f32").prepare("aten"))["handle"]
        self.assertLess(self.client.ok("loop", handle=handle, seconds=0.2)["seconds"], 0.6)

    def test_a_library_is_imported_when_it_is_asked_for(self):
        process = Process(device=DEVICE)
        self.addCleanup(process.end)
        process.first_line()
        client = Client(process)
        self.addCleanup(client.close)
        for impl in self.libraries():
            self.assertFalse(mapped(process, impl))
            self.assertTrue(client.ok("offers", impl=impl)["version"])
            self.assertTrue(mapped(process, impl))

    def test_what_is_not_installed_or_no_library_is_refused(self):
        self.refused(self.client.ask("offers", impl="aten"), "bad_request", "'aten'")
        for impl in PACKAGES:
            if not installed(impl):
                self.refused(self.client.ask("offers", impl=impl), "unsupported", "is not installed")


if __name__ == "__main__":
    unittest.main()

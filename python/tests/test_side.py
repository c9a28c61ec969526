"""The side process from outside, on the CPU.

    python -m unittest discover -s python/tests
"""

import base64
import json
import pathlib
import shutil
import struct
import tempfile
import unittest

from client import REPOSITORY, Client, Process, output, stored, value

FLUSH = {"kind": "none", "bytes": 0}


def f32(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


GEMS = '''
import contextlib
import torch

@contextlib.contextmanager
def use_gems():
    library = torch.library.Library("aten", "IMPL")
    library.impl("_softmax", lambda self, dim, half_to_float: torch.full_like(self, 7.0), "CPU")
    yield
    library._destroy()
'''


def setUpModule():
    """One process for most tests, which finds a module called flag_gems that has a kernel for one operator."""
    global PROCESS, READY
    folder = tempfile.TemporaryDirectory(prefix="kgen-gems-")
    unittest.addModuleCleanup(folder.cleanup)
    package = pathlib.Path(folder.name) / "flag_gems"
    package.mkdir()
    (package / "__init__.py").write_text(GEMS, encoding="utf-8")
    PROCESS = Process(path=folder.name)
    unittest.addModuleCleanup(PROCESS.end)
    READY = PROCESS.first_line()


class WithClient(unittest.TestCase):
    """A client for each test."""

    def setUp(self):
        self.client = Client(PROCESS)
        self.addCleanup(self.client.close)

    def vector(self, *numbers):
        place = self.client.place(f32(*numbers))
        return {"tensor": {"dtype": "f32", "shape": [len(numbers)], "stride": [1], "offset": 0, "at": place}}

    def out(self, n, dtype="f32", size=4):
        return {"dtype": dtype, "shape": [n], "at": self.client.place(b"\xff" * n * size)}

    def refused(self, reply, kind, part=""):
        self.assertIn("error", reply)
        self.assertEqual(reply["error"]["kind"], kind, reply)
        self.assertIn(part, reply["error"]["message"])
        self.assertNotIn("\n", reply["error"]["message"])
        self.assertLessEqual(len(reply["error"].get("detail", "")), 2048)


class Protocol(WithClient):
    def test_the_first_line_and_hello_say_the_same(self):
        self.assertEqual(READY["protocol"], 1)
        facts = self.client.ok("hello")
        self.assertEqual(facts, READY["ready"])
        self.assertEqual((facts["device"], facts["uuid"]), ("cpu", None))
        self.assertEqual((facts["settings"]["matmul_tf32"], facts["settings"]["cudnn_tf32"]), (False, False))

    def test_what_is_no_request_is_refused_and_the_process_goes_on(self):
        for line in (b"", b"{", b"[]", b"7", b'{"id":1}', b'{"id":1,"do":"fly"}', b'{"id":1,"do":"run"}'):
            self.refused(self.client.send(line), "bad_request")
        self.refused(self.client.ask("hello", loudly=True), "bad_request", "`loudly`")
        self.refused(self.client.ask("run", handle=99), "bad_request", "99")
        self.refused(self.client.ask("run", handle=[]), "bad_request")
        self.client.ok("hello")

    def test_arguments_that_make_no_sense_are_refused(self):
        good = [["self", self.vector(1, 2)]]
        place = {"shm": "/nowhere/at/all", "bytes": 4}
        short = {"tensor": {"dtype": "f32", "shape": [9], "stride": [1], "at": self.client.place(f32(1))}}
        absent = {"tensor": {"dtype": "f32", "shape": [1], "stride": [1], "at": place}}
        ipc = {"tensor": {"dtype": "f32", "shape": [1], "stride": [1], "at": {"ipc": "00" * 64, "bytes": 4}}}
        cases = [
            ([["self", {"number": 1}]], {}, "number"),
            ([["self", short]], {}, "place"),
            ([["self", absent]], {}, "nowhere"),
            ([["self", ipc]], {}, "CPU"),
            ([["input", self.vector(1)]], {}, "'input'"),
            (good, {"precision": "any"}, "any"),
            (good, {"impl": "numpy"}, "numpy"),
            (good, {"impl": "triton"}, "entry"),
        ]
        for args, fields, part in cases:
            self.refused(self.client.prepare("relu", args, [self.out(2)], **fields), "bad_request", part)

    def test_a_client_leaves_its_handles_behind(self):
        handle = self.client.prepare("relu", [["self", self.vector(-1, 2)]], [self.out(2)])["ok"]["handle"]
        self.client.close()
        self.client = Client(PROCESS)
        self.addCleanup(self.client.close)
        self.refused(self.client.ask("run", handle=handle), "bad_request", "no handle")

    def test_cubins_need_a_gpu(self):
        chunk = {"samples": 1, "warm_up": 0, "flush": FLUSH}
        self.refused(self.client.ask("time_cubin", cubin="", launches=[], **chunk), "unsupported", "GPU")
        self.refused(self.client.ask("do_bench_cubin", cubin="", launches=[]), "unsupported", "GPU")


class Aten(WithClient):
    def test_it_computes_into_the_places_of_the_outputs(self):
        out = self.out(3)
        args = [["self", self.vector(1, 2, 3)], ["other", self.vector(10, 20, 30)], ["alpha", {"float": 0.5}]]
        self.assertEqual(self.client.compute("add", args, [out], aten="add.Tensor"), [f32(6, 12, 18)])
        with open(out["at"]["shm"], "rb") as file:
            self.assertEqual(file.read(64), b"\xee" * 64)

    def test_inputs_are_read_again_by_each_run(self):
        argument, out = self.vector(-1, 2), self.out(2)
        handle = self.client.prepare("relu", [["self", argument]], [out])["ok"]["handle"]
        with open(argument["tensor"]["at"]["shm"], "r+b") as file:
            file.seek(64)
            file.write(f32(5, -6))
        self.assertGreater(self.client.ok("run", handle=handle)["seconds"], 0)
        self.assertEqual(stored(out["at"]), f32(5, 0))

    def test_it_times_as_many_samples_as_it_is_asked_for(self):
        handle = self.client.prepare("relu", [["self", self.vector(1)]], [self.out(1)])["ok"]["handle"]
        found = self.client.ok("time", handle=handle, samples=5, warm_up=2, flush=FLUSH)
        self.assertEqual((len(found["us"]), found["clock"]), (5, "host"))
        self.assertTrue(all(t > 0 for t in found["us"]), found)

    def test_a_loop_lasts_as_long_as_it_is_asked_to(self):
        handle = self.client.prepare("relu", [["self", self.vector(1)]], [self.out(1)])["ok"]["handle"]
        found = self.client.ok("loop", handle=handle, seconds=0.02)
        self.assertGreater(found["calls"], 10)
        self.assertTrue(0.02 <= found["seconds"] < 1, found)
        for seconds in (0, -1, 1e9, float("nan")):
            self.refused(self.client.ask("loop", handle=handle, seconds=seconds), "bad_request", "seconds")

    def test_memory_of_the_cpu_is_not_measured(self):
        handle = self.client.prepare("relu", [["self", self.vector(1)]], [self.out(1)])["ok"]["handle"]
        nothing = {"peak_bytes": None, "workspace_bytes": None}
        self.assertEqual(self.client.ok("memory", handle=handle), nothing)

    def test_a_dropped_handle_is_gone(self):
        handle = self.client.prepare("relu", [["self", self.vector(1)]], [self.out(1)])["ok"]["handle"]
        self.assertEqual(self.client.ok("drop", handle=handle), {})
        self.refused(self.client.ask("drop", handle=handle), "bad_request", "no handle")

    def test_what_torch_lacks_is_unsupported(self):
        args = [["self", self.vector(1)]]
        self.refused(self.client.prepare("rope", args, [self.out(1)], aten=None), "unsupported", "rope has no ATen")
        self.refused(self.client.prepare("rope", args, [self.out(1)]), "unsupported", "aten::rope.default")
        self.refused(self.client.prepare("relu", args, [self.out(1)], aten="relu.Tensor"), "unsupported")

    def test_what_raises_has_the_reason_and_the_end_of_the_traceback(self):
        args = [["self", self.vector(1, 2)], ["other", self.vector(1, 2, 3)]]
        reply = self.client.prepare("add", args, [self.out(2)], aten="add.Tensor")
        self.refused(reply, "unsupported", "size of tensor a (2)")
        self.assertIn("RuntimeError", reply["error"]["detail"])

    def test_outputs_are_those_that_were_announced(self):
        args = [["self", self.vector(1, 2)]]
        for outputs, part in [
            ([], "0 outputs"),
            ([self.out(2), self.out(2)], "2 outputs"),
            ([self.out(2, "f64", 8)], "dtype f32, not f64"),
            ([self.out(3)], "shape [2], not [3]"),
        ]:
            self.refused(self.client.prepare("relu", args, outputs), "wrong_outputs", part)

    def test_running_statistics_are_returned_and_stay_as_they_are(self):
        stay = [self.vector(0.0), self.vector(1.0)]
        x = self.client.place(f32(1, 3))
        args = [
            ["input", {"tensor": {"dtype": "f32", "shape": [2, 1], "stride": [1, 1], "offset": 0, "at": x}}],
            ["running_mean", stay[0]],
            ["running_var", stay[1]],
            *(["training", {"bool": True}], ["momentum", {"float": 0.5}], ["eps", {"float": 0.0}]),
        ]
        outputs = [dict(self.out(2), shape=[2, 1]), *(self.out(1) for _ in range(4))]
        found = self.client.compute("native_batch_norm", args, outputs)
        self.assertEqual(found, [f32(-1, 1), f32(2), f32(1), f32(1), f32(1.5)])
        self.assertEqual([stored(argument["tensor"]["at"]) for argument in stay], [f32(0.0), f32(1.0)])

    def test_precision_is_that_of_the_handle(self):
        args, out = [["self", self.vector(1)]], [self.out(1)]
        for precision, allowed in [("tf32", (True, True)), ("strict", (False, False)), ("torch_default", (False, True))]:
            found = self.client.prepare("relu", args, out, precision=precision)["ok"]["settings"]
            self.assertEqual((found["matmul_tf32"], found["cudnn_tf32"]), allowed)

    def test_low_precision_rounds_factors_to_bf16_and_gives_f32(self):
        # 257 needs 9 bits and becomes 256; 261 would become 260 or 262.
        row, column = self.vector(257, 4), self.vector(1, 1)
        row["tensor"].update(shape=[1, 2], stride=[2, 1])
        column["tensor"].update(shape=[2, 1], stride=[1, 1])
        args, outputs = [["self", row], ["mat2", column]], [dict(self.out(1), shape=[1, 1])]
        self.assertEqual(self.client.compute("mm", args, outputs, precision="tf32"), [f32(261)])
        found = self.client.compute("mm", args, outputs, precision="low")
        self.assertEqual(found, [f32(260)])

    @unittest.skipUnless(shutil.which("g++"), "torch.compile on the CPU needs g++")
    def test_torch_compile(self):
        for n in (2, 3):
            args = [["self", self.vector(*range(-1, n - 1))]]
            for impl in ("torch_compile", "torch_compile_max_autotune"):
                found = self.client.compute("relu", args, [self.out(n)], impl=impl)
                self.assertEqual(found, [f32(*(max(i, 0) for i in range(-1, n - 1)))])


# Overloads of some golden vectors: layouts, optional tensors, lists, dtypes, scalars, several outputs.
GOLDEN = {
    "add": "add.Tensor",
    "hardtanh": "hardtanh.default",
    "cat": "cat.default",
    "index": "index.Tensor",
    "split": "split_copy.Tensor",
    "layer_norm": "layer_norm.default",
    "softmax": "_softmax.default",
    "sum": "sum.dim_IntList",
    "native_group_norm": "native_group_norm.default",
    "embedding_bag": "_embedding_bag.default",
    "to_copy": "_to_copy.default",
    "clamp": "clamp.default",
    "mm": "mm.default",
    "topk": "topk.default",
    "upsample_bilinear2d": "upsample_bilinear2d.default",
}


class Golden(WithClient):
    def test_golden_vectors(self):
        for op, overload in GOLDEN.items():
            with open(REPOSITORY / "crates/ops/golden" / f"{op}.jsonl", encoding="utf-8") as file:
                records = [json.loads(line) for line in file]
            for record in records[:: max(len(records) // 12, 1)]:
                with self.subTest(op=op, args=record["args"]):
                    self.replay(op, overload, record)

    def replay(self, op, overload, record):
        args = [[name, value(self.client, recorded)] for name, recorded in record["args"].items()]
        outputs = [output(self.client, recorded) for recorded in record.get("outputs", [])]
        if "raises" in record:
            reply = self.client.prepare(op, args, outputs, aten=overload)
            self.assertIn(reply.get("error", {}).get("kind"), ("raised", "unsupported"), reply)
            return
        found = self.client.compute(op, args, outputs, aten=overload)
        for bytes_, recorded in zip(found, record["outputs"]):
            self.assertTrue(near(bytes_, recorded), recorded)


def near(found, recorded):
    """Whether bytes agree with a recorded tensor; other kernels round differently, by far less than 2 %."""
    import torch

    wanted = base64.b64decode(recorded["data"])
    names = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
    if found == wanted or recorded["dtype"] not in names:
        return found == wanted
    pair = [torch.frombuffer(bytearray(b), dtype=names[recorded["dtype"]]).double() for b in (found, wanted)]
    return torch.allclose(*pair, rtol=2e-2, atol=2e-3, equal_nan=True)


MODULE = """
print("noise on stdout")

def add__Tensor_kernel_impl(self, other, *, alpha=1):
    return self + alpha * other

def softmax_kernel_impl(self, dim, half_to_float):
    return self + dim + half_to_float

def none_kernel_impl(self):
    return None

def raising_kernel_impl(self):
    raise NotImplementedError("not yet")

def spinning_kernel_impl(self):
    while True:
        pass
"""


class Modules(WithClient):
    def module(self, entry, args, outputs, **fields):
        return self.client.prepare("add", args, outputs, impl="triton", source=MODULE, entry=entry, **fields)

    def test_a_function_gets_its_arguments_as_the_schema_has_them(self):
        args = [["self", self.vector(1)], ["other", self.vector(2)], ["alpha", {"int": 3}]]
        fields = {"impl": "triton", "source": MODULE, "entry": "add__Tensor_kernel_impl", "aten": "add.Tensor"}
        self.assertEqual(self.client.compute("add", args, [self.out(1)], **fields), [f32(7)])

    def test_gaps_are_filled_with_defaults_of_the_schema(self):
        args = [["self", self.vector(1)], ["dim", {"int": 0}], ["half_to_float", {"bool": True}]]
        fields = {"impl": "triton", "source": MODULE, "entry": "softmax_kernel_impl", "aten": "_softmax.default"}
        self.assertEqual(self.client.compute("softmax", args, [self.out(1)], **fields), [f32(2)])

    def test_what_a_module_does_wrong_is_its_own(self):
        args, out = [["self", self.vector(1)]], [self.out(1)]
        self.refused(self.module("raising_kernel_impl", args, out, aten=None), "raised", "not yet")
        self.refused(self.module("none_kernel_impl", args, out, aten=None), "wrong_outputs", "NoneType")
        self.refused(self.module("absent_kernel_impl", args, out, aten=None), "raised", "absent_kernel_impl")
        for source, part in [("import nothing_here", "nothing_here"), ("def", "SyntaxError"), ("exit()", "SystemExit")]:
            fields = {"impl": "triton", "aten": None, "source": source, "entry": "f"}
            self.refused(self.client.prepare("add", args, out, **fields), "raised", part)


class Gems(WithClient):
    def test_its_kernels_serve_its_handles_alone(self):
        args = [["self", self.vector(3)], ["dim", {"int": 0}]]
        fields = {"op": "softmax", "args": args, "outputs": [self.out(1)], "aten": "softmax.int"}
        gems = self.client.prepare(impl="flag_gems", **fields)["ok"]["handle"]
        aten = self.client.prepare(**fields)["ok"]["handle"]
        for handle, wanted in [(gems, 7), (aten, 1), (gems, 7)]:
            self.client.ok("run", handle=handle)
            self.assertEqual(stored(fields["outputs"][0]["at"]), f32(wanted))

    def test_an_operator_without_a_kernel_is_unsupported(self):
        reply = self.client.prepare("relu", [["self", self.vector(3)]], [self.out(1)], impl="flag_gems")
        self.refused(reply, "unsupported", "aten::relu")


class Life(unittest.TestCase):
    def test_without_torch_it_says_so_and_ends(self):
        process = Process(flags=("-S",))
        line = process.first_line()
        self.assertEqual((line["protocol"], line["error"]["kind"]), (1, "no_torch"))
        self.assertEqual(process.child.wait(timeout=20), 3)
        process.end()

    def test_without_a_gpu_it_says_so_and_ends(self):
        import torch

        if torch.cuda.is_available():
            self.skipTest("there is a GPU")
        process = Process(device="cuda:0")
        self.assertEqual(process.first_line()["error"]["kind"], "no_cuda")
        self.assertEqual(process.child.wait(timeout=20), 3)
        process.end()

    def test_it_ends_with_its_parent_in_the_middle_of_a_call(self):
        process = Process()
        process.first_line()
        client = Client(process)
        at = client.place(f32(1))
        args = [["self", {"tensor": {"dtype": "f32", "shape": [1], "stride": [1], "offset": 0, "at": at}}]]
        request = {"impl": "triton", "op": "relu", "args": args, "outputs": [], "precision": "strict"}
        entry = {"source": MODULE, "entry": "spinning_kernel_impl"}
        client.socket.sendall(json.dumps({"id": 1, "do": "prepare", **request, **entry}).encode() + b"\n")
        client.socket.settimeout(0.5)
        with self.assertRaises(TimeoutError):
            client.lines.readline()
        self.assertIsNone(process.child.poll())
        self.assertEqual(process.end(), 0)
        client.close()


if __name__ == "__main__":
    unittest.main()

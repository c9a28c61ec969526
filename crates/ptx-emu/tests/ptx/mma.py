#!/usr/bin/env python3
"""Every form of mma, wmma, ldmatrix, stmatrix and movmatrix, run once on GPU 0.

    mma.py OUT    writes OUT (the new mma.golden)

mma.txt holds a form per line: an opcode, with the sparsity selector behind a `/`, or a kernel of pass/wmma.ptx. A line of mma.golden holds the form, the kind
of its inputs and what the GPU computed: the hash of D, or D itself in hexadecimal where the last bits are the
machine's own. Forms that the GPU's assembler refuses are named on stdout and left out.
tests/it/matrix runs the same on the emulator.
"""

import ctypes
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
MASK = (1 << 64) - 1
# Bits, exponent bits (0 for integers), fraction bits.
TYPES = {"f16": (16, 5, 10), "bf16": (16, 8, 7), "tf32": (32, 8, 23), "f32": (32, 8, 23), "f64": (64, 11, 52), "e4m3": (8, 4, 3),
         "e5m2": (8, 5, 2), "s8": (8, 0, 0), "u8": (8, 0, 0), "s4": (4, 0, 0), "u4": (4, 0, 0), "b1": (1, 0, 0), "s32": (32, 0, 0)}


def element(ty, kind, r, s):
    """Bits of one input; the same as in tests/it/matrix/number.rs."""
    bits, exponent, fraction = TYPES[ty]
    random = s >> (64 - bits)
    if ty == "s32":
        step = r % 1000
        if kind == "s":
            return (step - 500) & 0xFFFFFFFF
        if kind == "n":
            return random
        return 0x80000000 + step if r >> 63 else 0x7FFFFFFF - step
    if not exponent:
        half = 1 << (bits - 1)
        return [0, half - 1, half, 2 * half - 1][(r >> 8) % 4] if kind == "e" and r % 4 else random
    bias, ones, top = (1 << (exponent - 1)) - 1, (1 << fraction) - 1, (1 << exponent) - 1
    make = lambda sign, field, frac: sign << (bits - 1) | field << fraction | frac
    if kind == "n" or (kind == "e" and r >> 60 == 1):
        return make(r & 1, bias - 3 + (r >> 8) % 4, s & ones)
    if kind == "e" and r >> 60 == 0:
        edges = [0, 1 << (bits - 1), 1, ones, make(0, 1, 0)]
        if ty == "e4m3":
            edges += [make(0, top, 6), make(1, top, 6), make(0, top, 7)]
        else:
            edges += [make(0, top - 1, ones), make(1, top - 1, ones), make(0, top, 0), make(1, top, 0),
                      make(0, top, 1 << (fraction - 1))]
        if ty == "tf32":
            edges = [e & 0xFFFFE000 for e in edges]
        return edges[(r >> 8) % len(edges)]
    value = (r >> 8) % 9 - 4
    if value == 0:
        return 0
    log = abs(value).bit_length() - 1
    return make(int(value < 0), bias + log, (abs(value) - (1 << log)) << fraction >> log)


def inputs(ty, kind, array, n):
    state = 0x9E3779B97F4A7C15 ^ (ord(kind) * 1000003 + array)

    def random():
        nonlocal state
        state ^= (state << 13) & MASK
        state ^= state >> 7
        state ^= (state << 17) & MASK
        return state

    for _ in range(8):
        random()
    bits, packed = TYPES[ty][0], 0
    for i in range(n):
        r = random()
        packed |= element(ty, kind, r, random()) << (i * bits)
    return packed.to_bytes(n * bits // 8, "little")


def parse(name):
    """Types of D, A, B, C and elements of A, B, C in all."""
    words = re.split(r"[._/]", name)
    m, n, k = map(int, re.search(r"m(\d+)n(\d+)k(\d+)", name).groups())
    types = [w for w in words if w in TYPES]
    stored = k // 2 if ".sp" in name else k
    quads = name.startswith("mma") and k == 4 and types[1] == "f16"
    return types, [128, 128, 256] if quads else [m * stored, k * n, m * n]


def metadata(name, kind):
    """A word for each lane: four bits for a chunk of a sparse A's row."""
    ascending = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110]
    choices = ascending if "ordered" in name else ascending + [bits >> 2 | (bits & 3) << 2 for bits in ascending]
    choices = [0b0100, 0b1110] if "tf32" in name else choices
    bits = [choices[r % len(choices)] for r in inputs("u8", kind, 3, 256)]
    return bytes(low | high << 4 for low, high in zip(bits[::2], bits[1::2]))


def kernel(name):
    types, sizes = parse(name)
    opcode, _, selector = name.partition("/")
    sparse = ", .param .u64 pe" if selector else ""
    text = [".version 8.7", ".target sm_90", ".address_size 64",
            f".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc{sparse}, .param .u64 pd)", "{",
            ".reg .b32 %t; .reg .b64 %pa, %pb, %pc, %pd, %pe, %o;", "mov.u32 %t, %tid.x;"]
    lists = {}
    operands = list(zip("abcd", types[1:] + types[:1], sizes + sizes[2:])) + [("e", "u8", 128)] * bool(selector)
    for x, ty, size in operands:
        width = 8 if ty == "f64" else 4
        count = size * TYPES[ty][0] // 8 // width // 32
        reg = ty if ty in ("f32", "f64") else "b32"
        lists[x] = [f"%{x}{i}" for i in range(count)]
        text.append(f".reg .{reg} {', '.join(lists[x])};")
        text.append(f"ld.param.u64 %p{x}, [p{x}]; mul.wide.u32 %o, %t, {count * width}; add.s64 %p{x}, %p{x}, %o;")
        if x != "d":
            text += [f"ld.global.{reg} {r}, [%p{x}+{i * width}];" for i, r in enumerate(lists[x])]
    tail = f", {lists['e'][0]}, {selector}" if selector else ""
    text.append(f"{opcode} " + ", ".join("{" + ", ".join(lists[x]) + "}" for x in "dabc") + f"{tail};")
    reg, width = (types[0], 8 if types[0] == "f64" else 4) if types[0] in ("f32", "f64") else ("b32", 4)
    text += [f"st.global.{reg} [%pd+{i * width}], {r};" for i, r in enumerate(lists["d"])]
    return "\n".join(text + ["ret;", "}"])


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


class Gpu:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check(self.cuda.cuInit(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.check(self.cuda.cuCtxSetCurrent(context))

    def check(self, code):
        if code:
            raise SystemExit(f"CUDA error {code}")

    def load(self, source):
        """The module, or None and the assembler's words."""
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(4096)
        opts, vals = (ctypes.c_int * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), 4096)
        code = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), source.encode(), 2, opts, vals)
        return (None if code else module), log.value.decode().replace("\n", " ")

    def buffer(self, data):
        p = ctypes.c_uint64()
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(len(data))))
        self.check(self.cuda.cuMemcpyHtoD_v2(p, data, ctypes.c_size_t(len(data))))
        return p

    def run(self, module, kernel, arrays, n_out):
        function = ctypes.c_void_p()
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()))
        args = [self.buffer(a) for a in arrays] + [self.buffer(b"\xa5" * n_out)]
        pointers = (ctypes.c_void_p * len(args))(*[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in args])
        self.check(self.cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, pointers, None))
        out = ctypes.create_string_buffer(n_out)
        self.check(self.cuda.cuMemcpyDtoH_v2(out, args[-1], ctypes.c_size_t(n_out)))
        for a in args:
            self.check(self.cuda.cuMemFree_v2(a))
        return out.raw


def golden(path):
    gpu, lines = Gpu(), []
    module_of = {"wmma": gpu.load((HERE / "pass/wmma.ptx").read_text())[0]}
    for name in (HERE / "mma.txt").read_text().split():
        module, log = (module_of["wmma"], "") if name.startswith("wmma") else gpu.load(kernel(name))
        if module is None:
            print("refused", name, log)
            continue
        types, sizes = parse(name)
        for kind in "sne":
            arrays = [inputs(t, kind, i, n) for i, (t, n) in enumerate(zip(types[1:], sizes))]
            arrays += [metadata(name, kind)] if "/" in name else []
            entry = name if name.startswith("wmma") else "k"
            out = gpu.run(module, entry, arrays, sizes[2] * TYPES[types[0]][0] // 8)
            exact = types[0] == "s32" or kind == "s"
            lines.append(f"{name} {kind} {fnv(out):016x}" if exact else f"{name} {kind} {out.hex()}")
    rows, log = gpu.load((HERE / "pass/rows.ptx").read_text())
    if rows is None:
        raise SystemExit(f"pass/rows.ptx: {log}")
    source = inputs("u8", "n", 0, 512)
    names = re.findall(r"^\.visible \.entry (\w+)", (HERE / "pass/rows.ptx").read_text(), re.M)
    for name in names:
        n = 4 if "x4" in name else 2 if "x2" in name else 1
        out = gpu.run(rows, name, [source], 128 * n)
        lines.append(f"{name} n {fnv(out):016x}")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    golden(sys.argv[1])

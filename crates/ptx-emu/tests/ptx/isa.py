#!/usr/bin/env python3
"""The instruction battery: one kernel per instruction form, run on a GPU, its results hashed.

    isa.py OUT    runs every case of isa.txt on GPU 0; writes OUT (the new isa.txt) and OUT.bin (all results)

isa.txt holds a case per line: input kind, hash of the 512 results on the GPU, instruction. A hash of
dashes marks a form that the GPU's assembler refuses, `?` one that no GPU has run yet; `~` before a hash
takes all NaNs for one, where PTX leaves their bits open, and `!` marks results that are not what PTX says.
Of a 16-bit result only 16 bits count: some assemblers leave others above them. tests/it/isa.rs runs the
same on the emulator.
"""

import ctypes
import pathlib
import struct
import sys

N = 512
MASK = (1 << 64) - 1

# Inputs: 64-bit words by kind; a kernel of 32-bit operands sees the low halves.
F32 = [0, 1 << 31, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 1, 0x80000001, 0x007FFFFF,
       0x00800000, 0x7F7FFFFF, 0x3F000000, 0x3FC00000, 0x40200000, 0xC0200000, 0x4B000000, 0x4B7FFFFF, 0x4F000000,
       0xCF000000, 0x4F800000, 0x5F000000, 0x33800000, 0x34000000, 0x7E800000, 0x7F000000, 0x3EAAAAAB]
F64 = [0, 1 << 63, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000, 0xFFF0000000000000,
       0x7FF8000000000000, 0xFFF8000012345678, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
       0x3FE0000000000000, 0x3FF8000000000000, 0x4004000000000000, 0x41E0000000000000, 0xC1E0000000200000,
       0x43E0000000000000, 0x36A0000000000000, 0x47EFFFFFF0000000, 0x3810000000000000]
F16 = [0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 1, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0x3800, 0x4100, 0x0C00]
BF16 = [0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 1, 0x8001, 0x007F, 0x0080, 0x7F7F, 0x3F00, 0x4020, 0x3380]
INT = [0, 1, 2, 3, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
       1 << 32, 0x7FFFFFFFFFFFFFFF, 1 << 63, MASK, 0x123456789ABCDEF0, 0xFEDCBA9876543210]


def inputs(kind, array):
    state = 0x9E3779B97F4A7C15 ^ (ord(kind) * 1000003 + array)

    def rnd():
        nonlocal state
        state ^= (state << 13) & MASK
        state ^= state >> 7
        state ^= (state << 17) & MASK
        return state

    for _ in range(8):
        rnd()
    edges = {"i": INT, "f": F32, "d": F64, "h": F16, "b": BF16}[kind]
    out = []
    for _ in range(N):
        r, s = rnd(), rnd()
        edge = edges[(r >> 8) % len(edges)]
        if kind == "i":
            value = edge if r % 3 == 0 else s >> (r >> 40) % 64
        elif kind == "f":
            near = (s & 0x807FFFFF) | ((110 + (r >> 20) % 40) << 23)
            value = edge if r % 3 == 0 else (near if r % 3 == 1 else s & 0xFFFFFFFF)
        elif kind == "d":
            near = (s & 0x800FFFFFFFFFFFFF) | ((1000 + (r >> 20) % 50) << 52)
            value = edge if r % 3 == 0 else (near if r % 3 == 1 else s)
        else:
            other = edges[(r >> 16) % len(edges)]
            value = (edge | other << 16) if r % 3 == 0 else s & 0xFFFFFFFF
        out.append(value & MASK)
    return out


def cases():
    """(kind, mark, body): the body computes from %a %b %c (32), %da %db %dc (64), %ha %hb %hc (16) into
    %o (32), %do (64) or %ho (16), named by what it assigns."""
    lines = pathlib.Path(__file__).with_name("isa.txt").read_text().splitlines()
    split = [line.split(" ", 2) for line in lines]
    return [(kind, golden[0] if golden[0] in "~!" else "", body) for kind, golden, body in split]


def kernel(number, kind, body):
    if "%do" in body:
        finish = "mov.b64 %res, %do;"
    elif "%ho" in body:
        finish = "cvt.u32.u16 %o, %ho; cvt.u64.u32 %res, %o;"
    else:
        finish = "cvt.u64.u32 %res, %o;"
    return f"""
// {kind}
.visible .entry k{number}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 po)
{{
	.reg .b16 %ha, %hb, %hc, %ho, %t16;
	.reg .b32 %i, %a, %b, %c, %o, %t32, %t7;
	.reg .b64 %da, %db, %dc, %do, %t64, %off, %pa, %pb, %pc, %po, %res;
	.reg .pred %p, %q, %r;
	ld.param.u64 %pa, [pa];
	ld.param.u64 %pb, [pb];
	ld.param.u64 %pc, [pc];
	ld.param.u64 %po, [po];
	mov.u32 %i, %tid.x;
	mul.wide.u32 %off, %i, 8;
	add.s64 %pa, %pa, %off;
	add.s64 %pb, %pb, %off;
	add.s64 %pc, %pc, %off;
	add.s64 %po, %po, %off;
	ld.global.u64 %da, [%pa];
	ld.global.u64 %db, [%pb];
	ld.global.u64 %dc, [%pc];
	cvt.u32.u64 %a, %da;
	cvt.u32.u64 %b, %db;
	cvt.u32.u64 %c, %dc;
	cvt.u16.u32 %ha, %a;
	cvt.u16.u32 %hb, %b;
	cvt.u16.u32 %hc, %c;
	and.b32 %t7, %c, 7;
	setp.eq.u32 %r, %t7, 3;
	{body}
	{finish}
	st.global.u64 [%po], %res;
	ret;
}}
"""


def as_one_nan(body, words):
    """The results of a float instruction with every NaN as the one of all ones."""
    lanes, width, fraction = {"f64": (1, 64, 52), "f32": (1, 32, 23), "f16": (1, 16, 10), "f16x2": (2, 16, 10),
                              "bf16": (1, 16, 7)}[body.split()[0].split(".")[-1]]
    largest = (1 << (width - 1)) - 1
    infinity = largest >> fraction << fraction
    out = []
    for word in words:
        for lane in range(lanes):
            if word >> 16 * lane & largest > infinity:
                word = word & ~((2 * largest + 1) << 16 * lane) | largest << 16 * lane
        out.append(word)
    return out


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def hashed(mark, body, data):
    words = struct.unpack(f"<{N}Q", data)
    if "%do" not in body and "%ho" in body:
        words = [word & 0xFFFF for word in words]
    if mark == "~":
        words = as_one_nan(body, words)
    return fnv(struct.pack(f"<{N}Q", *words))


def golden(path):
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(code):
        if code:
            raise SystemExit(f"CUDA error {code}")

    check(cuda.cuInit(0))
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))

    def alloc(data):
        p = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(len(data))))
        check(cuda.cuMemcpyHtoD_v2(p, data, ctypes.c_size_t(len(data))))
        return p

    pack = lambda words: struct.pack(f"<{N}Q", *words)
    sets = {k: [alloc(pack(inputs(k, a))) for a in range(3)] for k in "ifdhb"}
    result = alloc(bytes(8 * N))
    lines = []
    raw = open(path + ".bin", "wb")
    for n, (kind, mark, body) in enumerate(cases()):
        source = ".version 8.3\n.target sm_90\n.address_size 64\n" + kernel(n, kind, body)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        log = ctypes.create_string_buffer(4096)
        opts, vals = (ctypes.c_int * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), 4096)
        code = cuda.cuModuleLoadDataEx(ctypes.byref(module), source.encode(), 2, opts, vals)
        if code:
            print("refused", n, body, log.value.decode().replace("\n", " "))
            lines.append(f"{kind} ---------------- {body}")
            raw.write(bytes(8 * N))
            continue
        check(cuda.cuModuleGetFunction(ctypes.byref(function), module, f"k{n}".encode()))
        args = sets[kind] + [result]
        pointers = (ctypes.c_void_p * 4)(*[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in args])
        check(cuda.cuLaunchKernel(function, 1, 1, 1, N, 1, 1, 0, None, pointers, None))
        out = ctypes.create_string_buffer(8 * N)
        check(cuda.cuMemcpyDtoH_v2(out, result, ctypes.c_size_t(8 * N)))
        raw.write(out.raw)
        lines.append(f"{kind} {mark}{hashed(mark, body, out.raw):016x} {body}")
        check(cuda.cuModuleUnload(module))
    open(path, "w").write("\n".join(lines) + "\n")


if __name__ == "__main__":
    golden(sys.argv[1])

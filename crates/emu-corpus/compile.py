#!/usr/bin/env python3
"""Compiles kernels/*.cu with NVRTC for sm_90 to ptx/*.ptx, which the emulator's tests run.

PTX for sm_80 goes to ptx/sm_80 where it differs in more than `.target`. What begins with `// sm_90a` is compiled for that,
with kgen's `kg/hopper.cuh`.

    compile.py [NAME ...]               with KGEN_NVRTC naming NVRTC's folder (lib/ and include/)
    compile.py --mutants [NAME ...]     compiles every mutant of mutants/*.toml; keeps those for sm_90a alone,
                                        as differences from the kernel's PTX in ptx/mutants/*.diff
"""

import ctypes
import difflib
import os
import pathlib
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).parent
ROOT = pathlib.Path(os.environ["KGEN_NVRTC"])
PRELUDE = (
    "#define INFINITY __int_as_float(0x7f800000)\n"
    "#define NAN __int_as_float(0x7fffffff)\n"
    "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n"
    "typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned int uint32_t;\n"
    "typedef long long int64_t; typedef unsigned long long uint64_t;\n"
)
MAPS = "struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };\n"
LINE = "#line 1 \"k.cu\"\n"
HOPPER = (HERE / "../compile/src/headers/hopper.cuh").read_bytes()


# Host headers that NVRTC lacks; the prelude or NVRTC itself has what they declare.
HEADERS = {b"cassert": b"", b"cstdint": b"", b"kg/hopper.cuh": HOPPER}


def compile_one(nvrtc, name, source, arch):
    program = ctypes.c_void_p()
    text = (PRELUDE + (MAPS if arch == "sm_90a" else "") + LINE + source).encode()
    count = len(HEADERS)
    texts, names = (ctypes.c_char_p * count)(*HEADERS.values()), (ctypes.c_char_p * count)(*HEADERS)
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"k.cu", count, texts, names) == 0
    options = [f"--gpu-architecture={arch}", f"-I{ROOT}/include", f"-I{ROOT}/include/cccl", "-default-device", "-lineinfo",
               "--std=c++17"]
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit(f"{name} for {arch}:\n{log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()


def archs(source):
    # A first line `// sm_90` marks what needs Hopper, `// sm_90a` what no later GPU has.
    if source.startswith("// sm_90a"):
        return ["sm_90a"]
    return ["sm_90"] if source.startswith("// sm_90") else ["sm_80", "sm_90"]


def ptx_of(nvrtc, path, source, arch):
    ptx = compile_one(nvrtc, path.name, source, arch)
    # Folders of this machine say nothing about the code.
    ptx = ptx.replace(str(ROOT), "/cuda").replace(f"{os.getcwd()}/", "")
    if arch == "sm_90a":
        # The library's constants that nothing uses.
        constants = re.findall(r"^\.global .*? (\w+)(?: = \w+)?;\n", ptx, re.M)
        unused = {name for name in constants if ptx.count(name) == 1}
        lines = (line for line in ptx.splitlines(True) if not (line.startswith(".global ") and unused & set(re.findall(r"\w+", line))))
        ptx = "".join(lines)
    return "\n".join(line.rstrip() for line in ptx.splitlines()).strip() + "\n"


def kernels(nvrtc, names):
    for path in [HERE / f"kernels/{n}.cu" for n in names] or sorted((HERE / "kernels").glob("*.cu")):
        source = path.read_text()
        ptx = {arch: ptx_of(nvrtc, path, source, arch) for arch in archs(source)}
        if "sm_90a" in ptx:
            (HERE / f"ptx/{path.stem}.ptx").write_text(ptx["sm_90a"])
            continue
        (HERE / f"ptx/{path.stem}.ptx").write_text(ptx["sm_90"])
        older = HERE / f"ptx/sm_80/{path.stem}.ptx"
        if ptx.get("sm_80", ptx["sm_90"]).replace(".target sm_80", ".target sm_90") == ptx["sm_90"]:
            older.unlink(missing_ok=True)
        else:
            older.write_text(ptx["sm_80"])


def mutate(lines, mutant):
    """The lines with the mutant's change, or None if it does not fit them."""
    at = mutant["line"] - 1
    if at >= len(lines) or lines[at].count(mutant["from"]) != 1:
        return None
    return lines[:at] + [lines[at].replace(mutant["from"], mutant["to"])] + lines[at + 1 :]


def difference(old, new):
    """A line `@ FROM N` for each change: N lines from line FROM, counted from 1, give way to those that follow."""
    old, new = old.splitlines(), new.splitlines()
    out = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            out += [f"@ {a + 1} {b - a}", *new[c:d]]
    return "\n".join(out) + "\n"


def source_of(table):
    """A kernel's table does not name its file: it is the one that all mutants fit."""
    for path in sorted((HERE / "kernels").glob("*.cu")):
        source = path.read_text()
        lines = source.splitlines()
        if all(mutate(lines, mutant) for mutant in table):
            return path, source
    raise SystemExit("no kernel fits these mutants")


def mutants(nvrtc, names):
    for path in [HERE / f"mutants/{n}.toml" for n in names] or sorted((HERE / "mutants").glob("*.toml")):
        table = tomllib.loads(path.read_text())["mutant"]
        file, source = source_of(table)
        arch, kept = archs(source)[-1], []
        for number, mutant in enumerate(table, 1):
            changed = "\n".join(mutate(source.splitlines(), mutant)) + "\n"
            ptx = ptx_of(nvrtc, pathlib.Path(f"{path.stem} mutant {number}"), changed, arch)
            if arch == "sm_90a":
                whole = (HERE / f"ptx/{file.stem}.ptx").read_text()
                kept.append(f"= {number}\n" + difference(whole, ptx))
        if kept:
            (HERE / f"ptx/mutants/{path.stem}.diff").write_text("".join(kept))


def main():
    # NVRTC looks for its builtins library by name; a loaded one is found.
    ctypes.CDLL(str(next((ROOT / "lib").glob("libnvrtc-builtins.so.*"))), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(next((ROOT / "lib").glob("libnvrtc.so.*"))))
    if sys.argv[1:2] == ["--mutants"]:
        mutants(nvrtc, sys.argv[2:])
    else:
        kernels(nvrtc, sys.argv[1:])


main()

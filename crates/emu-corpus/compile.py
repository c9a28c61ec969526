#!/usr/bin/env python3
"""Compiles kernels/*.cu with NVRTC to ptx/<arch>/*.ptx, which the emulator's tests run.

    compile.py [NAME ...]     with KGEN_NVRTC naming NVRTC's folder (lib/ and include/)
"""

import ctypes
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
ROOT = pathlib.Path(os.environ["KGEN_NVRTC"])
PRELUDE = (
    "#define INFINITY __int_as_float(0x7f800000)\n"
    "#define NAN __int_as_float(0x7fffffff)\n"
    "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n"
    "typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned int uint32_t;\n"
    "typedef long long int64_t; typedef unsigned long long uint64_t;\n"
    "#line 1 \"k.cu\"\n"
)


def compile_one(nvrtc, path, arch):
    source = path.read_text()
    program = ctypes.c_void_p()
    text = (PRELUDE + source).encode()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"k.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={arch}", f"-I{ROOT}/include", f"-I{ROOT}/include/cccl", "-default-device", "-lineinfo",
               "--std=c++17"]
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit(f"{path.name} for {arch}:\n{log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()


def main():
    # NVRTC looks for its builtins library by name; a loaded one is found.
    ctypes.CDLL(str(next((ROOT / "lib").glob("libnvrtc-builtins.so.*"))), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(next((ROOT / "lib").glob("libnvrtc.so.*"))))
    paths = [HERE / f"kernels/{n}.cu" for n in sys.argv[1:]] or sorted((HERE / "kernels").glob("*.cu"))
    for path in paths:
        # A first line `// sm_90` marks what needs Hopper.
        hopper = path.read_text().startswith("// sm_90")
        for arch in ["sm_90"] if hopper else ["sm_80", "sm_90"]:
            out = HERE / f"ptx/{arch}/{path.stem}.ptx"
            out.parent.mkdir(parents=True, exist_ok=True)
            ptx = compile_one(nvrtc, path, arch)
            # The build's own number says nothing about the code.
            lines = [line.rstrip() for line in ptx.replace(str(ROOT), "/cuda").splitlines()]
            out.write_text("\n".join(lines).strip() + "\n")


main()

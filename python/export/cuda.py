# --------------------------------------------------------------------------------------------------
# Compiling with NVRTC and launching through the driver.

import glob
import importlib.util
import os
import re
import struct


class CompileError(RuntimeError):
    """NVRTC refused the source, or there is no NVRTC."""


class CudaError(RuntimeError):
    """A call of the CUDA driver failed."""


# Appended to the source: a name expression over `_exported::params` spells the kinds of a kernel's
# parameters as numbers, 4 bits each.
_PROBE = """
namespace _exported {
template <class _KgT> struct code { static constexpr unsigned long long value = 15; };
template <class _KgT> struct code<_KgT*> { static constexpr unsigned long long value = 1; };
#define _EXPORTED(_KgT, _KgN) \\
  template <> struct code<_KgT> { static constexpr unsigned long long value = _KgN; };
_EXPORTED(char, 2) _EXPORTED(signed char, 2) _EXPORTED(unsigned char, 3) _EXPORTED(short, 4)
_EXPORTED(unsigned short, 5) _EXPORTED(int, 6) _EXPORTED(unsigned int, 7) _EXPORTED(long, 8)
_EXPORTED(long long, 8) _EXPORTED(unsigned long, 9) _EXPORTED(unsigned long long, 9)
_EXPORTED(bool, 10) _EXPORTED(double, 11) _EXPORTED(float, 12)
_EXPORTED(CUtensorMap, 0)
#ifdef __CUDA_FP16_H__
_EXPORTED(__half, 13)
#endif
#ifdef __CUDA_BF16_H__
_EXPORTED(__nv_bfloat16, 14)
#endif
template <class _KgF> struct kinds;
template <class... _KgA> struct kinds<void (*)(_KgA...)> {
  static constexpr int count = sizeof...(_KgA);
  static constexpr unsigned long long word(int index) {
    const unsigned long long codes[] = {code<_KgA>::value..., 0};
    unsigned long long packed = 0;
    for (int i = 0; i < 16 && index * 16 + i < count; ++i) packed |= codes[index * 16 + i] << 4 * i;
    return packed;
  }
};
template <int _KgN, unsigned long long _KgA, unsigned long long _KgB, unsigned long long _KgC,
          unsigned long long _KgD>
__global__ void params();
}
"""

_TENSOR_MAP, _POINTER, _BOOL, _F64, _F32, _F16, _BF16, _OTHER = 0, 1, 10, 11, 12, 13, 14, 15
_INTS = {2: "b", 3: "B", 4: "h", 5: "H", 6: "i", 7: "I", 8: "q", 9: "Q"}


def _kinds_expression(kernel):
    kinds = f"_exported::kinds<decltype(&{kernel})>"
    words = ", ".join(f"{kinds}::word({index})" for index in range(4))
    return f"&_exported::params<{kinds}::count, {words}>"


def _kinds(lowered):
    """Reads the kinds of a kernel's parameters out of a lowered name."""
    count, *words = (int(number) for number in re.findall(r"L[iy](\d+)E", lowered))
    if count > 64 or len(words) != 4:
        raise CompileError(f"the parameters of {lowered} cannot be read")
    return [words[index // 16] >> 4 * (index % 16) & 15 for index in range(count)]


def _encode(kind, arg):
    """Encodes a scalar argument as the bytes of its parameter."""
    value = arg[1] if len(arg) > 1 else 0
    if kind == _POINTER and arg[0] == "null":
        return bytes(8)
    if kind in _INTS and arg[0] in ("int", "bool"):
        return struct.pack(_INTS[kind], value)
    if kind == _BOOL and arg[0] in ("int", "bool"):
        return struct.pack("?", value)
    if kind == _F16:
        return struct.pack("e", value)
    if kind == _BF16:
        bits = struct.unpack("I", struct.pack("f", f32(value)))[0]
        return struct.pack("H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF)
    if kind in (_F64, _F32):
        return struct.pack("d", value) if kind == _F64 else struct.pack("f", f32(value))
    raise PlanError(f"the plan passes {arg} where the kernel takes something else")


def _package_folders():
    """Returns the folders of NVIDIA's Python packages."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or []) if spec else []
    return [folder for root in roots for folder in sorted(glob.glob(root + "/*"), reverse=True)]


def _toolkit_folders():
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    return [home for home in homes if home] + ["/usr/local/cuda"]


def _cutlass_folders():
    """Returns the folder of CUTLASS's headers, where the source includes any."""
    if not re.search(r'^\s*#\s*include\s*[<"](cute|cutlass)/', SOURCE, re.MULTILINE):
        return []
    spec = importlib.util.find_spec("cutlass_library")
    roots = [root + "/source" for root in spec.submodule_search_locations] if spec else []
    for root in [os.environ.get("CUTLASS_PATH", "")] + roots:
        if os.path.isfile(root + "/include/cute/tensor.hpp"):
            return [root + "/include"]
    raise CompileError("the kernel includes headers of CUTLASS: pip install --no-deps "
                       "nvidia-cutlass==4.2.0.0, or set CUTLASS_PATH")


def _version_first(path):
    """Sorts libraries of PyTorch's own CUDA version before others."""
    try:
        import torch
        major = (torch.version.cuda or "").split(".")[0]
    except ImportError:
        major = ""
    return 0 if major and f".so.{major}" in path else 1


class Nvrtc:
    """NVRTC: the one that came with PyTorch, else that of a CUDA toolkit."""

    def __init__(self):
        patterns = [folder + "/lib" for folder in _package_folders()]
        for home in _toolkit_folders():
            patterns += [home + "/lib64", home + "/targets/*/lib"]
        found = [path for pattern in patterns for path in glob.glob(pattern + "/libnvrtc.so.*")]
        found = sorted(found, key=_version_first)
        # NVRTC asks for its builtins by a bare name, which a loaded library answers.
        for path in found[:1]:
            for builtins in glob.glob(os.path.dirname(path) + "/libnvrtc-builtins.so*"):
                ctypes.CDLL(builtins)
        self._lib = self._open(found)
        self.include_dirs = _cutlass_folders() + self._headers(found)

    @staticmethod
    def _open(found):
        for name in found + ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
        raise CompileError("no NVRTC found: pip install nvidia-cuda-nvrtc, or set CUDA_HOME")

    @staticmethod
    def _headers(found):
        beside = [os.path.dirname(os.path.dirname(path)) for path in found]
        bases = [base + "/include" for base in beside + _package_folders() + _toolkit_folders()]
        bases += [base + "/cccl" for base in bases]
        folders = []
        for header in ("cuda_fp16.h", "crt/mma.h", "cuda/std/type_traits"):
            folder = next((base for base in bases if os.path.isfile(f"{base}/{header}")), None)
            if folder and folder not in folders:
                folders.append(folder)
        return folders

    def _check(self, name, status):
        if status != 0:
            self._lib.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise CompileError(f"{name}: {self._lib.nvrtcGetErrorString(status).decode()}")

    def compile(self, source, headers, options, expressions):
        """Returns the CUBIN, and the lowered name of each name expression."""
        texts = [text.encode() for text in headers.values()]
        names = [name.encode() for name in headers]
        strings = lambda items: (ctypes.c_char_p * len(items))(*items)
        program = ctypes.c_void_p()
        self._check("nvrtcCreateProgram", self._lib.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernel.cu", len(names), strings(texts),
            strings(names)))
        try:
            for expression in expressions:
                self._check("nvrtcAddNameExpression", self._lib.nvrtcAddNameExpression(
                    program, expression.encode()))
            encoded = [option.encode() for option in options]
            status = self._lib.nvrtcCompileProgram(program, len(encoded), strings(encoded))
            if status != 0:
                raise CompileError(self._text(program, "ProgramLog").decode(errors="replace"))
            return self._text(program, "CUBIN"), [
                self._lowered(program, expression) for expression in expressions]
        finally:
            self._lib.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program, what):
        size = ctypes.c_size_t()
        self._check(what, getattr(self._lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self._check(what, getattr(self._lib, f"nvrtcGet{what}")(program, text))
        return text.raw

    def _lowered(self, program, expression):
        name = ctypes.c_char_p()
        self._check("nvrtcGetLoweredName", self._lib.nvrtcGetLoweredName(
            program, expression.encode(), ctypes.byref(name)))
        return name.value.decode()


_nvrtc = None


def _leading_includes():
    """Returns the lines that include headers before all other code of the source."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", SOURCE, flags=re.DOTALL)
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    is_code = [not re.match(r'#\s*include\s*[<"]', line) for line in lines] + [True]
    return lines[:is_code.index(True)]


def compile_variant(arch, types, defines, kernels):
    """Compiles the kernel file for one choice of macros.

    types: (macro, dtype) pairs. defines: (macro, text) pairs. Returns the CUBIN, and for each
    kernel its name in it and the kinds of its parameters.
    """
    global _nvrtc
    _nvrtc = _nvrtc or Nvrtc()
    used = {dtype for _, dtype in types}
    includes = (({"f16"}, "fp16"), ({"bf16"}, "bf16"), ({"f8e4m3", "f8e5m2"}, "fp8"))
    prelude = HEADERS[PRELUDE] + "".join(
        f"#include <cuda_{name}.h>\n" for dtypes, name in includes if used & dtypes)
    # Behind the headers that the source begins with: a macro `T` would break the text of all of them.
    prelude += "".join(line + "\n" for line in _leading_includes() if defines)
    prelude += "".join(f"#undef {name}\n#define {name} {text}\n" for name, text in defines)
    options = ["-lineinfo", "-default-device", "--std=c++17", "-diag-suppress=177",
               "-diag-suppress=550", f"--gpu-architecture={arch}", f"--pre-include={PRELUDE}"]
    options += [f"-I{folder}" for folder in _nvrtc.include_dirs]
    options += [f"-D{name}={DType(dtype).cuda_type}" for name, dtype in types]
    expressions = [f"&{kernel}" for kernel in kernels] + [_kinds_expression(k) for k in kernels]
    cubin, lowered = _nvrtc.compile(
        SOURCE + _PROBE, {**HEADERS, PRELUDE: prelude}, options, expressions)
    entries, spelled = lowered[:len(kernels)], lowered[len(kernels):]
    return cubin, {
        kernel: (entry, _kinds(kinds)) for kernel, entry, kinds in zip(kernels, entries, spelled)}


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute; the value is a union of 64 bytes."""

    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("extents", ctypes.c_uint * 6), ("smem", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_Attribute)),
                ("count", ctypes.c_uint)]


def _attributes(cluster, pdl, cooperative):
    """Returns the attributes of a launch as the driver takes them."""
    given = [(4, cluster)] if cluster else []
    given += [(number, (1,)) for number, is_set in ((6, pdl), (2, cooperative)) if is_set]
    attributes = (_Attribute * len(given))()
    for attribute, (number, words) in zip(attributes, given):
        attribute.id = number
        attribute.value[:len(words)] = words
    return attributes


# CUtensorMapDataType.
_MAP_TYPE_NUMBERS = {name: number for number, name in enumerate((
    "u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32",
    "tf32_ftz"))}


class Driver:
    """The few calls of the CUDA driver that launching takes. They work in the current context."""

    def __init__(self):
        self._lib = ctypes.CDLL("libcuda.so.1")
        self._launch = self._lib.cuLaunchKernel
        pointer, number = ctypes.c_void_p, ctypes.c_uint
        self._launch.argtypes = [pointer, *[number] * 7, pointer, pointer, pointer]

    def text(self, status):
        text = ctypes.c_char_p()
        self._lib.cuGetErrorString(status, ctypes.byref(text))
        return (text.value or b"unknown error").decode()

    def call(self, name, *args):
        status = getattr(self._lib, name)(*args)
        if status != 0:
            raise CudaError(f"{name}: {self.text(status)}")

    def bind(self, ordinal):
        """Makes the device's primary context current in a thread that has none, such as autograd's."""
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        if not context:
            self.call("cuDeviceGet", ctypes.byref(device), ordinal)
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self.call("cuCtxSetCurrent", context)

    def attribute(self, number, ordinal):
        value, device = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), ordinal)
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    def load(self, cubin, kernels):
        """Loads a CUBIN; returns function and parameter kinds of each kernel."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        functions = {}
        for kernel, (entry, kinds) in kernels.items():
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
            functions[kernel] = (function, kinds)
        return functions

    def tensor_map(self, address, description):
        """Encodes a tensor map at an address; returns its memory and where it lies in there."""
        data_type, extents, strides, steps, interleave, swizzle, l2, fill, mode = description
        memory = (ctypes.c_ubyte * 192)()
        at = -(-ctypes.addressof(memory) // 64) * 64

        def array(of, numbers):
            return (of * max(len(numbers), 1))(*numbers)

        number = ctypes.c_uint
        if mode[0] == "tiled":
            name, parts = "cuTensorMapEncodeTiled", [array(number, mode[1])]
        else:
            name = "cuTensorMapEncodeIm2col"
            parts = [array(ctypes.c_int, corner) for corner in mode[1:3]]
            parts += [number(count) for count in mode[3:]]
        self.call(
            name, ctypes.c_void_p(at), number(_MAP_TYPE_NUMBERS[data_type]), number(len(extents)),
            ctypes.c_void_p(address), array(ctypes.c_uint64, extents),
            array(ctypes.c_uint64, strides), *parts, array(number, steps),
            number(interleave // 16), number({0: 0, 32: 1, 64: 2, 128: 3}[swizzle]),
            number({0: 0, 64: 1, 128: 2, 256: 3}[l2]), number(fill == "nan"))
        return memory, at

    def launch(self, function, extents, smem, parameters, stream, attributes=(None, False, False)):
        """Launches a kernel. extents: of the grid, then of a block."""
        if smem > 48 << 10:
            # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.call("cuFuncSetAttribute", function, 8, smem)
        if any(attributes):
            attributes = _attributes(*attributes)
            config = _Config((ctypes.c_uint * 6)(*extents), smem, stream, attributes, len(attributes))
            self.call("cuLaunchKernelEx", ctypes.byref(config), function, parameters, None)
            return
        status = self._launch(function, *extents, smem, stream, parameters, None)
        if status != 0:
            raise CudaError(f"cuLaunchKernel: {self.text(status)}")

    def fill(self, address, byte, n_bytes, stream):
        if n_bytes:
            self.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(byte),
                      ctypes.c_size_t(n_bytes), ctypes.c_void_p(stream))

# --------------------------------------------------------------------------------------------------
# The launch plan. Its text is Python; what follows gives its functions their meaning. A plan sees
# shapes, strides, element types, alignment, scalars and the device, never data.

import ast
import ctypes
import textwrap


class Declined(RuntimeError):
    """A `require` of the plan declined the call."""


class PlanError(RuntimeError):
    """The plan cannot be carried out for this call."""


# Size in bytes and CUDA C++ type of each element type.
_DTYPES = {
    "f64": (8, "double"), "f32": (4, "float"), "f16": (2, "__half"), "bf16": (2, "__nv_bfloat16"),
    "f8e4m3": (1, "__nv_fp8_e4m3"), "f8e5m2": (1, "__nv_fp8_e5m2"), "i64": (8, "long long"),
    "i32": (4, "int"), "i16": (2, "short"), "i8": (1, "signed char"), "u8": (1, "unsigned char"),
    "bool": (1, "bool"),
}


class DType(str):
    """An element type by its short name; plans compare it with strings."""

    size = property(lambda self: _DTYPES[self][0])
    cuda_type = property(lambda self: _DTYPES[self][1])


class View:
    """A tensor as a plan sees it. `offset` counts elements from the first byte of its buffer."""

    def __init__(self, buffer, dtype, shape, stride, offset=0, align=None):
        self.buffer, self.dtype = buffer, DType(dtype)
        self.shape, self.stride, self.offset = tuple(shape), tuple(stride), offset
        self.ndim, self.itemsize = len(self.shape), self.dtype.size
        self.numel = _product(self.shape)
        self.align = alignment(offset * self.itemsize) if align is None else align
        self.contiguous = self.numel == 0 or self.stride_is_dense()

    def stride_is_dense(self):
        """Tells whether the elements lie in row-major order without gaps."""
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.stride)):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True


class Pointer:
    """A pointer into a buffer; `dtype` is that of the tensor that it points into, None in scratch."""

    def __init__(self, buffer, byte_offset, dtype=None):
        self.buffer, self.byte_offset, self.dtype = buffer, byte_offset, dtype


class TensorMap:
    """A tensor map of a part of a buffer, innermost dimension first, as the driver takes it.

    description: data type, extents, strides in bytes, element strides, interleave, swizzle, L2
    promotion, fill, and the mode: ("tiled", box) or ("im2col", lower, upper, channels, pixels).
    """

    def __init__(self, buffer, byte_offset, description):
        self.buffer, self.byte_offset, self.description = buffer, byte_offset, description


def _product(extents):
    product = 1
    for extent in extents:
        product *= extent
    return product


def alignment(address):
    """Returns the largest power of two, at most 256, that the address is a multiple of."""
    return 256 if address == 0 else min(address & -address, 256)


def _int(value, least=None):
    if not isinstance(value, int):
        raise PlanError(f"expected an integer, found {value!r}")
    if least is not None and value < least:
        raise PlanError(f"expected at least {least}, found {value}")
    return int(value)


def cdiv(a, b):
    return -(-_int(a) // _int(b, 1))


def align_up(a, to):
    return cdiv(a, to) * to


def next_pow2(a):
    return 1 << max(_int(a, 0) - 1, 0).bit_length()


def ilog2(a):
    return _int(a, 1).bit_length() - 1


def is_pow2(a):
    return _int(a) > 0 and a & (a - 1) == 0


def prod(a, start=0, stop=None):
    return _product(_int(extent) for extent in a[start:stop])


def has(x):
    return x is not None


def f32(x):
    return ctypes.c_float(x).value


def i32(x):
    value = int(x)
    if not -(1 << 31) <= value < 1 << 31:
        raise PlanError(f"{value} does not fit 32 bits")
    return value


def require(condition, message=None):
    if not condition:
        raise Declined(message or "the kernel's plan declines this call")


def ptr(x, byte_offset=0):
    if x is None:
        return None
    base = x.offset * x.itemsize if isinstance(x, View) else x.byte_offset
    return Pointer(x.buffer, base + byte_offset, x.dtype)


def tensor_map(x, box=None, swizzle=0, l2=128, oob="zero", interleave=0, element_strides=None,
               shape=None, strides=None, dtype=None, im2col=None, channels=None, pixels=None):
    if not isinstance(x, (View, Pointer)):
        raise PlanError(f"`tensor_map` needs a tensor or a scratch buffer, found {x!r}")
    dtype = str(x.dtype if dtype is None else dtype)
    data_type, size = _MAP_TYPES.get(dtype) or (dtype, DType(dtype).size)
    is_own = strides is None
    if isinstance(x, View):
        byte_offset = x.offset * x.itemsize
        if strides is None:
            strides = x.stride if shape is None else _dense(_tuple(shape))
        shape = x.shape if shape is None else shape
    else:
        byte_offset = x.byte_offset
    if shape is None or strides is None:
        raise PlanError("a tensor map of scratch needs `shape` and `strides`")
    shape, strides = _tuple(shape), _tuple(strides)
    if len(strides) != len(shape) or (shape and shape[-1] > 1 and strides[-1] != 1):
        raise PlanError(f"no tensor map takes the shape {shape} with strides {strides}")
    # The stride of a dimension of one element is never used: it is one that the driver takes, unless
    # the plan gives one.
    align, in_bytes = 32 if interleave == 32 else 16, []
    span = (shape[-1] if shape else 1) * size
    for extent, stride in zip(shape[-2::-1], strides[-2::-1]):
        stride *= size
        if extent == 1 and is_own:
            stride = min(-(-span // align) * align, (1 << 40) - align)
        in_bytes.append(stride)
        span = stride * extent
    if (box is None) == (im2col is None):
        raise PlanError("a tensor map has either `box` or `im2col`")
    if im2col is None:
        mode = ("tiled", _tuple(box)[::-1])
    else:
        lower, upper = (_tuple(corner)[::-1] for corner in im2col)
        mode = ("im2col", lower, upper, _int(channels, 1), _int(pixels, 1))
    steps = (1,) * len(shape) if element_strides is None else _tuple(element_strides)
    return TensorMap(x.buffer, byte_offset, (
        data_type, shape[::-1], tuple(in_bytes), steps[::-1], interleave, swizzle, l2, oob, mode))


def _tuple(value):
    values = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(_int(number) for number in values)


# Types that tensor maps have for those of tensors, and types that only they have, with their sizes.
_MAP_TYPES = {
    "f8e4m3": ("u8", 1), "f8e5m2": ("u8", 1), "i8": ("u8", 1), "bool": ("u8", 1), "i16": ("u16", 2),
    "u16": ("u16", 2), "u32": ("u32", 4), "u64": ("u64", 8), "f32_ftz": ("f32_ftz", 4),
    "tf32": ("tf32", 4), "tf32_ftz": ("tf32_ftz", 4),
}

_FUNCTIONS = {
    "tensor_map": tensor_map,
    "cdiv": cdiv, "min": min, "max": max, "abs": abs, "align_up": align_up, "next_pow2": next_pow2,
    "ilog2": ilog2, "is_pow2": is_pow2, "len": len, "prod": prod, "range": range, "has": has,
    "require": require, "ptr": ptr, "f32": f32, "float": f32, "i32": i32, "int": i32,
}


class Resolved:
    """What a plan comes to for one call: numbers only.

    defines: macros for the compiler. params: the autotuning axes as (name, values, chosen).
    scratch: buffers to allocate as (bytes, zero). steps: ("launch", kernel, grid, block, smem,
    args, attributes), ("copy", source view, target buffer), ("fill", buffer, byte) and ("matmul", a, b, out,
    trans_a, trans_b, alpha, accumulate) and ("convolution", x, w, out, stride, padding, dilation,
    groups), to be done in order; the tensors of the last two are dense views.
    Attributes are the cluster, None for none, and whether the launch is dependent and cooperative.
    An argument is ("pointer", buffer, byte offset), ("tensor_map", buffer, byte offset, description),
    ("null",), ("int", n), ("float", x) or ("bool", b); a buffer is ("input", i), ("output", i) or
    ("scratch", i).
    """

    def __init__(self, chosen):
        self._chosen = chosen
        self.defines, self.params, self.scratch, self.steps = {}, [], [], []

    def functions(self):
        """Returns the functions of the plan that leave something behind."""
        names = ("define", "param", "scratch", "fill", "contiguous", "expand", "launch", "matmul",
                 "convolution")
        return {name: getattr(self, name) for name in names}

    def _define(self, name, text):
        if self.defines.setdefault(name, text) != text:
            raise PlanError(f"the macro `{name}` is {self.defines[name]} already, now {text}")

    def define(self, name, value):
        if isinstance(value, DType):
            text = value.cuda_type
        elif isinstance(value, bool):
            text = str(int(value))
        else:
            text = value if isinstance(value, str) else repr(value)
        self._define(name, text)
        return value

    def param(self, name, values):
        value = self._chosen.get(name, values[0])
        value = value if value in values else values[0]
        self._define(name, str(value))
        if all(axis[0] != name for axis in self.params):
            self.params.append((name, tuple(values), value))
        return value

    def _new_scratch(self, n_bytes, zero):
        self.scratch.append((n_bytes, zero))
        return ("scratch", len(self.scratch) - 1)

    def scratch_buffer(self, bytes, zero=False, align=256):
        return Pointer(self._new_scratch(_int(bytes, 0), zero), 0)

    def fill(self, x, byte):
        self.steps.append(("fill", x.buffer, byte))

    def _copy(self, source, shape, stride):
        view = View(source.buffer, source.dtype, shape, stride, source.offset)
        target = self._new_scratch(view.numel * view.itemsize, False)
        if view.numel:
            self.steps.append(("copy", view, target))
        return View(target, view.dtype, shape, _dense(shape))

    def contiguous(self, x):
        return x if x is None or x.contiguous else self._copy(x, x.shape, x.stride)

    def expand(self, x, shape):
        if tuple(shape) == x.shape and x.contiguous:
            return x
        lead = len(shape) - x.ndim
        stride = [0] * len(shape)
        for dim, extent in enumerate(x.shape):
            if lead < 0 or (extent != 1 and extent != shape[lead + dim]):
                raise PlanError(f"{x.shape} does not expand to {tuple(shape)}")
            if extent == shape[lead + dim]:
                stride[lead + dim] = x.stride[dim]
        return self._copy(x, tuple(shape), tuple(stride))

    def launch(self, kernel, grid, block, smem=0, args=(), cluster=1, cooperative=False, pdl=False):
        grid, block = _extents(grid), _extents(block)
        limits = zip(grid + block, (0x7FFFFFFF, 0xFFFF, 0xFFFF, 1024, 1024, 64))
        if any(extent > limit for extent, limit in limits) or min(block) < 1 or min(grid) < 0:
            raise PlanError(f"no GPU takes grid {grid} with blocks of {block}")
        cluster = None if cluster is None or _product(_extents(cluster)) == 1 else _extents(cluster)
        if cluster and any(blocks % extent for blocks, extent in zip(grid, cluster)):
            raise PlanError(f"grid {grid} is not made of clusters of {cluster}")
        # Only another launch of the plan may be overlapped.
        pdl = pdl and bool(self.steps) and self.steps[-1][0] == "launch"
        if 0 not in grid:
            args = tuple(_argument(arg) for arg in args)
            self.steps.append(("launch", kernel, grid, block, _int(smem, 0), args,
                               (cluster, pdl, cooperative)))

    def matmul(self, a, b, out, m, n, k, batch=1, trans_a=False, trans_b=False, alpha=1.0,
               accumulate=False, dtype=None):
        dtype = _factor_type(a, b, dtype)
        step = ("matmul", _operand(a, dtype, (batch, k, m) if trans_a else (batch, m, k)),
                _operand(b, dtype, (batch, n, k) if trans_b else (batch, k, n)),
                _operand(out, _sum_type(dtype), (batch, m, n)),
                trans_a, trans_b, float(alpha), accumulate)
        if m * n * batch and not (k == 0 and accumulate):
            self.steps.append(step)

    def convolution(self, x, w, out, stride=1, padding=0, dilation=1, groups=1, shape=None):
        dtype, spatial = _factor_type(x, w, None), w.ndim - 2
        shape = tuple(x.shape if shape is None else shape)
        shape = (1,) * (len(shape) == spatial + 1) + shape
        stride, padding, dilation = (
            _per_dimension(value, spatial) for value in (stride, padding, dilation))
        extents = tuple(
            (size + 2 * padding[dim] - dilation[dim] * (kernel - 1) - 1) // stride[dim] + 1
            for dim, (size, kernel) in enumerate(zip(shape[2:], w.shape[2:])))
        if len(shape) != w.ndim or w.shape[1] * groups != shape[1] or min(extents) < 1:
            raise PlanError(f"{w.shape} does not convolve {shape}")
        result = (shape[0], w.shape[0], *extents)
        step = ("convolution", _operand(x, dtype, shape), _operand(w, dtype, w.shape),
                _operand(out, dtype, result), stride, padding, dilation, groups)
        if _product(result):
            self.steps.append(step)


def _per_dimension(value, spatial):
    values = tuple(value) if isinstance(value, tuple) else (value,)
    return values * spatial if len(values) == 1 else values


def _factor_type(a, b, dtype):
    """Returns the type of factors in scratch: that of those that are tensors, else the one named."""
    known = [name for name in (a.dtype, b.dtype, dtype) if name is not None]
    if len(set(known)) != 1:
        raise PlanError(f"a library needs factors of one element type, found {known}")
    return DType(known[0])


def _sum_type(dtype):
    return "f64" if dtype == "f64" else "f32"


def _operand(x, dtype, shape):
    """Returns an operand of a library as a dense view; scratch has the type `dtype`."""
    if isinstance(x, View):
        if not x.contiguous or _product(shape) > x.numel:
            raise PlanError(f"{x.shape} does not hold {shape} without gaps")
        return View(x.buffer, x.dtype, shape, _dense(shape), x.offset)
    dtype = DType(x.dtype or dtype)
    return View(x.buffer, dtype, shape, _dense(shape), x.byte_offset // dtype.size)


def _dense(shape):
    strides = [1] * len(shape)
    for dim in range(len(shape) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * max(shape[dim], 1)
    return tuple(strides)


def _extents(value):
    values = tuple(value) if isinstance(value, tuple) else (value,)
    return tuple(_int(extent) for extent in values) + (1,) * (3 - len(values))


def _argument(value):
    if value is None:
        return ("null",)
    if isinstance(value, View):
        return ("pointer", value.buffer, value.offset * value.itemsize)
    if isinstance(value, Pointer):
        return ("pointer", value.buffer, value.byte_offset)
    if isinstance(value, TensorMap):
        if 0 in value.description[1]:
            raise PlanError("a tensor without elements has no tensor map")
        return ("tensor_map", value.buffer, value.byte_offset, value.description)
    kind = {bool: "bool", int: "int", float: "float"}.get(type(value))
    if kind is None:
        raise PlanError(f"{value!r} cannot be passed to a kernel")
    return (kind, value)


class _ListsAreTuples(ast.NodeTransformer):
    """In a plan a list is a tuple, and equal to one of the same elements."""

    def visit_List(self, node):
        self.generic_visit(node)
        return ast.copy_location(ast.Tuple(elts=node.elts, ctx=node.ctx), node)


class Plan:
    """A launch plan, compiled once."""

    def __init__(self, text):
        text = text.strip("\n")
        try:
            tree = ast.parse(textwrap.dedent(text))
        except IndentationError:
            # A comment may stand further left than the statements.
            tree = ast.parse("if True:\n" + text)
        tree = ast.fix_missing_locations(_ListsAreTuples().visit(tree))
        self._code = compile(tree, "<launch plan>", "exec")

    def resolve(self, names, chosen):
        """Evaluates the plan.

        names: the values of what it sees. chosen: values of its `param` axes, by name; an axis
        that is not named there has its first value.
        """
        resolved = Resolved(chosen)
        functions = {**resolved.functions(), "scratch": resolved.scratch_buffer}
        exec(self._code, {"__builtins__": {}, **_FUNCTIONS, **functions, **names})
        return resolved

# --------------------------------------------------------------------------------------------------
# Calls of the kernel with PyTorch's tensors.

import contextlib
import threading

try:
    import torch
except ImportError as error:
    if __name__ == "__main__":
        raise SystemExit(f"{NAME}: the module needs PyTorch: {error}")
    raise

_TORCH = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
    "bool": torch.bool,
}
_SHORT = {dtype: name for name, dtype in _TORCH.items()}

_PLAN = Plan(PLAN)
# What was resolved, by call signature; loaded modules, by device and macros.
_resolved, _loaded, _lock = {}, {}, threading.Lock()
_MOST_RESOLVED = 4096
_driver = None
# Whether a thread has a context.
_thread = threading.local()


def _map_tensors(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [_map_tensors(item, change) for item in value]
    return value


def _tensors(arguments):
    """Returns the tensors of a call in the order of the schema."""
    found = []
    for name, _ in PARAMS:
        _map_tensors(arguments[name], found.append)
    return found


def _signature(value):
    """Returns everything about an argument that a plan can see, as a key."""
    if isinstance(value, torch.Tensor):
        return (value.dtype, value.shape, value.stride(), alignment(value.data_ptr()))
    if isinstance(value, (list, tuple)):
        return tuple(_signature(item) for item in value)
    return (type(value), repr(value) if isinstance(value, float) else value)


class _Call:
    """One signature: its outputs, its plan and its compiled kernels.

    infer: returns shape and type of each output, and a function that makes the result of a list of them.
    """

    def __init__(self, arguments, ordinal, infer):
        self.outputs, self.result = infer()
        names = _plan_names(arguments, self.outputs)
        self.plan = _PLAN.resolve({**names, **_facts(ordinal)}, _tuned(arguments))
        self.functions = _load(ordinal, _types(arguments, self.outputs), self.plan)

        self.launches = {
            index: _Launch(step, self.functions) for index, step in enumerate(self.plan.steps)
            if step[0] == "launch"}

    def run(self, inputs, device):
        """Carries out the plan on the current stream; returns the outputs."""
        if torch.cuda.current_device() != device.index:
            with torch.cuda.device(device):
                return self.run(inputs, device)
        outputs = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in self.outputs]
        stream = torch._C._cuda_getCurrentRawStream(device.index)
        scratch = [
            (torch.zeros if zero else torch.empty)(n_bytes, dtype=torch.uint8, device=device)
            for n_bytes, zero in self.plan.scratch]
        buffers = {"input": inputs, "output": outputs, "scratch": scratch}
        for index, step in enumerate(self.plan.steps):
            if step[0] == "launch":
                self.launches[index].run(buffers, stream)
            elif step[0] == "copy":
                _, view, (kind, target) = step
                source = _strided(buffers[view.buffer[0]][view.buffer[1]], view)
                _typed(buffers[kind][target], view.dtype).copy_(source.reshape(-1))
            elif step[0] == "matmul":
                _matmul(buffers, *step[1:])
            elif step[0] == "convolution":
                _convolution(buffers, *step[1:])
            else:
                filled = buffers[step[1][0]][step[1][1]]
                n_bytes = filled.numel() * filled.element_size()
                _driver.fill(filled.data_ptr(), step[2], n_bytes, stream)
        return outputs


class _Launch:
    """A launch whose scalar arguments are encoded once."""

    def __init__(self, step, functions):
        _, kernel, grid, block, self.smem, args, self.attributes = step
        self.function, kinds = functions[kernel]
        if len(args) != len(kinds):
            raise PlanError(f"{kernel} has {len(kinds)} parameters, the plan passes {len(args)}")
        self.extents = grid + block
        for kind, arg in zip(kinds, args):
            if (kind == _TENSOR_MAP) != (arg[0] == "tensor_map"):
                raise PlanError(f"{kernel} takes tensor maps by value, and nothing else so")
        self.pointers = [(index, *arg[1], arg[2]) for index, arg in enumerate(args)
                         if arg[0] == "pointer"]
        self.maps = [(index, *arg[1], *arg[2:]) for index, arg in enumerate(args)
                     if arg[0] == "tensor_map"]
        # Maps that were made, by argument and address.
        self.made = {}
        in_buffers = ("pointer", "tensor_map")
        self.scalars = [
            ctypes.create_string_buffer(_encode(kind, arg), 8)
            for kind, arg in zip(kinds, args) if arg[0] not in in_buffers]
        scalars = map(ctypes.addressof, self.scalars)
        self.addresses = [0 if arg[0] in in_buffers else next(scalars) for arg in args]

    def run(self, buffers, stream):
        values = (ctypes.c_uint64 * len(self.pointers))()
        base, addresses = ctypes.addressof(values), self.addresses.copy()
        for slot, (index, kind, buffer, byte_offset) in enumerate(self.pointers):
            values[slot] = buffers[kind][buffer].data_ptr() + byte_offset
            addresses[index] = base + 8 * slot
        maps = [self.map(index, buffers[kind][buffer].data_ptr() + byte_offset, description)
                for index, kind, buffer, byte_offset, description in self.maps]
        for (index, *_), (_, address) in zip(self.maps, maps):
            addresses[index] = address
        parameters = (ctypes.c_void_p * len(addresses))(*addresses)
        _driver.launch(
            self.function, self.extents, self.smem, parameters, stream, self.attributes)

    def map(self, index, address, description):
        """Returns the tensor map of an argument at an address: its memory, and where it lies there."""
        made = self.made.get((index, address))
        if made is None:
            if len(self.made) >= 256:
                self.made.clear()
            made = self.made[index, address] = _driver.tensor_map(address, description)
        return made


@contextlib.contextmanager
def _precision():
    """Sets how exact PyTorch's products are: as those of the kernel's library steps were judged."""
    wanted = [(torch.backends.cuda.matmul, "allow_tf32", MATMUL_TF32),
              (torch.backends.cudnn, "allow_tf32", CONVOLUTION_TF32)] + [
        (torch.backends.cuda.matmul, f"allow_{dtype}_reduced_precision_reduction", False)
        for dtype in ("fp16", "bf16")]
    before = [getattr(place, name) for place, name, _ in wanted]
    try:
        for place, name, value in wanted:
            setattr(place, name, value)
        yield
    finally:
        for (place, name, _), value in zip(wanted, before):
            setattr(place, name, value)


def _matmul(buffers, a, b, out, trans_a, trans_b, alpha, accumulate):
    a, b, out = (_strided(buffers[view.buffer[0]][view.buffer[1]], view) for view in (a, b, out))
    a, b = a.mT if trans_a else a, b.mT if trans_b else b
    factors = {"beta": int(accumulate), "alpha": alpha}
    with _precision():
        if out.dtype == a.dtype:
            out.baddbmm_(a, b, **factors)
        else:
            out.copy_(torch.baddbmm(out, a, b, out_dtype=out.dtype, **factors))


def _convolution(buffers, x, w, out, stride, padding, dilation, groups):
    x, w, out = (_strided(buffers[view.buffer[0]][view.buffer[1]], view) for view in (x, w, out))
    with _precision():
        spatial = (0,) * len(stride)
        out.copy_(torch.convolution(x, w, None, stride, padding, dilation, False, spatial, groups))


def _typed(buffer, dtype):
    return buffer.view(_TORCH[dtype]) if buffer.dtype == torch.uint8 else buffer


def _strided(buffer, view):
    buffer = buffer if buffer.dtype == _TORCH[view.dtype] else _typed(buffer, view.dtype)
    return torch.as_strided(
        buffer, view.shape, view.stride, buffer.storage_offset() + view.offset)


def _plan_names(arguments, outputs):
    """Returns what the plan sees of a call, by the names it has for it."""
    names, inputs = {}, 0

    def see(value):
        nonlocal inputs
        if isinstance(value, torch.Tensor):
            inputs += 1
            return View(("input", inputs - 1), _SHORT[value.dtype], value.shape, value.stride(),
                        align=alignment(value.data_ptr()))
        if isinstance(value, (list, tuple)):
            return tuple(see(item) for item in value)
        if isinstance(value, torch.dtype):
            return DType(_SHORT[value])
        return value

    for name, plan_name in PARAMS:
        names[plan_name] = see(arguments[name])
    views = [View(("output", index), _SHORT[dtype], shape, _dense(shape))
             for index, (shape, dtype) in enumerate(outputs)]
    if len(views) == 1 and not RETURNS_LIST:
        return {**names, "out": views[0]}
    return {**names, "out": tuple(views), **{f"out{i}": view for i, view in enumerate(views)}}


def _types(arguments, outputs):
    """Returns the type macros of a call. A tensor that is left out has the main one's type."""
    def first(value):
        found = []
        _map_tensors(value, lambda tensor: found.append(_SHORT[tensor.dtype]))
        return found[0] if found else None

    main = first(arguments[MAIN]) if MAIN else None
    types = [(f"T_{plan_name}", first(arguments[name]) or main)
             for name, plan_name in PARAMS if name in TENSORS]
    if RETURNS_LIST or len(outputs) == 1:
        return types + [("T_out", _SHORT[outputs[0][1]] if outputs else main)]
    return types + [(f"T_out{i}", _SHORT[dtype]) for i, (_, dtype) in enumerate(outputs)]


def _describe(value):
    """Returns an argument as the entries of TUNED have it."""
    if isinstance(value, torch.Tensor):
        return (_SHORT[value.dtype], *value.shape)
    if isinstance(value, (list, tuple)):
        return tuple(_describe(item) for item in value)
    return _SHORT.get(value, value) if isinstance(value, torch.dtype) else value


def _tuned(arguments):
    """Returns the values of the plan's axes that were fastest for such a call, {} where unknown."""
    described = {name: _describe(arguments[name]) for name, _ in PARAMS} if TUNED else None
    return next((chosen for call, chosen in TUNED if call == described), {})


def _facts(ordinal):
    major, minor = torch.cuda.get_device_capability(ordinal)
    # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, _MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, _L2_CACHE_SIZE
    numbers = {"sm_count": 16, "smem_max": 97, "l2_bytes": 38}
    facts = {name: _driver.attribute(number, ordinal) for name, number in numbers.items()}
    return {**facts, "cc": major * 10 + minor}


def _load(ordinal, types, plan):
    """Returns the functions that a plan launches, compiled and loaded once per device and macros."""
    kernels = tuple(dict.fromkeys(step[1] for step in plan.steps if step[0] == "launch"))
    defines = tuple(sorted(plan.defines.items()))
    key = (ordinal, tuple(types), defines, kernels)
    with _lock:
        if key not in _loaded:
            major, minor = torch.cuda.get_device_capability(ordinal)
            arch = f"sm_{major}{minor}{'a' if major >= 9 else ''}"
            cubin, entries = compile_variant(arch, types, defines, kernels)
            _loaded[key] = _driver.load(cubin, entries)
        return _loaded[key]


def _bind(ordinal):
    global _driver
    _driver = _driver or Driver()
    if not getattr(_thread, "is_bound", False):
        _driver.bind(ordinal)
        _thread.is_bound = True


def _call_of(arguments, inputs, infer):
    """Returns the call of these arguments, made at its first use; inputs: the tensors among them."""
    device = inputs[0].device
    if any(tensor.device != device for tensor in inputs):
        raise ValueError(f"{NAME} takes tensors of one device")
    _bind(device.index)
    key = (device.index, *[_signature(arguments[name]) for name, _ in PARAMS])
    call = _resolved.get(key)
    if call is None:
        if len(_resolved) >= _MOST_RESOLVED:
            _resolved.clear()
        with torch.cuda.device(device):
            call = _resolved[key] = _Call(arguments, device.index, infer)
    return call

"""The CUDA driver, and memory that kgen shares by it."""

import ctypes

from .refusal import Refusal, torch


class IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]


class Driver:
    """The few functions of the CUDA driver that torch has no name for, in torch's context."""

    MAX_DYNAMIC_SHARED = 8

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            reason = (text.value or b"unknown").decode()
            kind = "out_of_memory" if status == 2 else "raised"
            raise Refusal(kind, f"{name}: {reason} ({status})")

    def memset(self, tensor, stream):
        pointer, size = ctypes.c_uint64(tensor.data_ptr()), ctypes.c_size_t(tensor.numel())
        self.call("cuMemsetD8Async", pointer, ctypes.c_ubyte(0), size, ctypes.c_void_p(stream))

    def function(self, cubin, name, shared):
        """The function `name` of a CUBIN that is loaded here, with leave for its dynamic shared memory."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, ctypes.c_int(self.MAX_DYNAMIC_SHARED), ctypes.c_int(shared))
        return function

    def launch(self, function, grid, block, shared, parameters):
        stream = torch.cuda.current_stream().cuda_stream
        sizes = [ctypes.c_uint(n) for n in (*grid, *block, shared)]
        self.call("cuLaunchKernel", function, *sizes, ctypes.c_void_p(stream), parameters, None)


class DeviceBytes:
    """Bytes at an address on the device, in the form that torch makes a tensor of without a copy."""

    def __init__(self, pointer, n_bytes):
        self.__cuda_array_interface__ = {"shape": (n_bytes,), "typestr": "|u1", "data": (pointer, False), "version": 2}


class Mappings:
    """CUDA IPC allocations of one client: each is opened once, and closed when nothing uses it any more."""

    LAZY_PEER_ACCESS = ctypes.c_uint(1)

    def __init__(self, driver):
        self.driver = driver
        self.opened = {}

    def open(self, handle):
        """The address of the allocation behind a handle of 128 hexadecimal digits."""
        if handle not in self.opened:
            pointer, raw = ctypes.c_uint64(), IpcHandle.from_buffer_copy(bytes.fromhex(handle))
            self.driver.call("cuIpcOpenMemHandle_v2", ctypes.byref(pointer), raw, self.LAZY_PEER_ACCESS)
            self.opened[handle] = [pointer, 0]
        self.opened[handle][1] += 1
        return self.opened[handle][0].value

    def close(self, handle):
        entry = self.opened[handle]
        entry[1] -= 1
        if entry[1] == 0:
            del self.opened[handle]
            self.driver.call("cuIpcCloseMemHandle", entry[0])

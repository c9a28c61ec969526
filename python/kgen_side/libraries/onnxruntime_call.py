"""Ops in ONNX Runtime: a model of one node, whose inputs and outputs are bound to the addresses of torch's tensors."""

import onnx
import onnxruntime
from onnx import TensorProto, helper

from ..refusal import need, torch
from .call import Call, numpy_name
from .onnx_nodes import OPS

__all__ = ["DTYPES", "OPS", "bind"]

DTYPES = ("f64", "f32", "f16", "bf16")
ERRORS_ONLY = 3


def bind(problem):
    if problem.device.type == "cuda":
        needed = "CUDAExecutionProvider"
        need(needed in onnxruntime.get_available_providers(), "this onnxruntime was built without CUDA")
    for name, tensor in problem.tensors.items():
        need(tensor.is_contiguous(), f"onnxruntime takes contiguous tensors only (`{name}`)")
        need(tensor.numel(), f"onnxruntime is not called with an empty tensor here (`{name}`)")
    return OnnxCall(problem)


class OnnxCall(Call):
    """A session; its outputs lie in the same memory each time."""

    def __init__(self, problem):
        self.on_gpu = problem.device.type == "cuda"
        # ONNX Runtime does not take the default stream for one that it is given.
        self.stream = torch.cuda.Stream(problem.device) if self.on_gpu else None
        node = problem.op(problem.tensors, problem.options)
        outputs = zip(problem.shapes, problem.dtypes)
        self.outputs = [torch.empty(shape, dtype=dtype, device=problem.device) for shape, dtype in outputs]
        self.session = self.opened(model(node, problem), problem)
        self.binding = self.session.io_binding()
        self.tensors = problem.tensors
        for name in node.inputs:
            if name not in node.constants:
                self.binding.bind_input(*place(node, name, self.tensors[name]))
        for i, output in enumerate(self.outputs):
            self.binding.bind_output(*place(node, f"output{i}", output))
        self.options = onnxruntime.RunOptions()
        self.options.add_run_config_entry("disable_synchronize_execution_providers", "1")

    def opened(self, text, problem):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = ERRORS_ONLY
        if not self.on_gpu:
            return onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        settings = {
            "device_id": str(problem.device.index or 0),
            "user_compute_stream": str(self.stream.cuda_stream),
            "use_tf32": str(int(problem.tf32)),
        }
        return onnxruntime.InferenceSession(text, options, providers=[("CUDAExecutionProvider", settings)])

    def enqueue(self):
        if not self.on_gpu:
            self.session.run_with_iobinding(self.binding, self.options)
            return self.outputs
        current = torch.cuda.current_stream()
        self.stream.wait_stream(current)
        self.session.run_with_iobinding(self.binding, self.options)
        current.wait_stream(self.stream)
        return self.outputs


def onnx_type(dtype):
    names = {"float64": "DOUBLE", "float32": "FLOAT", "int64": "INT64", "bool": "BOOL"}
    name = numpy_name(dtype)
    return getattr(TensorProto, names.get(name, name.upper()))


def place(node, name, tensor):
    """The arguments that bind a name of the model to a tensor."""
    shape = node.shapes.get(name, list(tensor.shape))
    return name, tensor.device.type, tensor.device.index or 0, onnx_type(tensor.dtype), shape, tensor.data_ptr()


def model(node, problem):
    """The model of a node, as bytes."""
    inputs = [name for name in node.inputs if name not in node.constants]
    outputs = [f"output{i}" for i in range(len(problem.shapes))]

    def info(name, dtype, shape):
        return helper.make_tensor_value_info(name, onnx_type(dtype), node.shapes.get(name, list(shape)))

    graph = helper.make_graph(
        [helper.make_node(node.kind, node.inputs, outputs, domain=node.domain, **node.attributes)],
        "op",
        [info(name, problem.tensors[name].dtype, problem.tensors[name].shape) for name in inputs],
        [info(*output) for output in zip(outputs, problem.dtypes, problem.shapes)],
        [helper.make_tensor(name, TensorProto.INT64, [len(of)], of) for name, of in node.constants.items()],
    )
    opsets = [helper.make_opsetid("", node.opset)]
    opsets += [helper.make_opsetid(node.domain, 1)] if node.domain else []
    version = helper.find_min_ir_version_for(opsets, ignore_unknown=True)
    made = helper.make_model(graph, opset_imports=opsets, ir_version=version)
    onnx.checker.check_model(made)
    return made.SerializeToString()

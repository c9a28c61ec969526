"""Compares the plans that plan.py resolves with what kgen resolved.

Reads JSON lines on standard input, one per plan and case: "plan", "chosen", "facts", "args" (name
and value as in a stored case), "outputs" (layouts), "returns_list" and "resolved", which is null
where the plan declined the case. Prints the first differences; exit status 1 if there are any.
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import plan  # noqa: E402


def view(buffer, spec):
    return plan.View(buffer, spec["dtype"], spec["shape"], spec["stride"], spec["offset"])


def value_of(value, inputs):
    """Returns an argument as a plan sees it; counts the tensors in `inputs`."""
    kind, content = value["kind"], value.get("value")
    if kind == "tensor":
        inputs.append(content)
        return view(("input", len(inputs) - 1), content["spec"])
    if kind == "tensors":
        return tuple(item and value_of({"kind": "tensor", "value": item}, inputs)
                     for item in content)
    if kind == "d_type":
        return plan.DType(content)
    if kind == "float":
        return float(content)
    return tuple(content) if isinstance(content, list) else content


def names_of(line):
    """Returns what the plan sees."""
    inputs = []
    names = {name: value_of(value, inputs) for name, value in line["args"]}
    outputs = [view(("output", index), spec) for index, spec in enumerate(line["outputs"])]
    if len(outputs) == 1 and not line["returns_list"]:
        names["out"] = outputs[0]
    else:
        names["out"] = tuple(outputs)
        names.update({f"out{index}": output for index, output in enumerate(outputs)})
    return {**names, **line["facts"]}


def number(text):
    """Returns a macro's value so that 1e-05 equals 1e-5."""
    try:
        return float(text)
    except ValueError:
        return text


def buffer(ref):
    return (ref["kind"], ref["index"])


def description(of):
    """Returns a tensor map in the runtime's words."""
    (name, mode), = of["mode"].items()
    if name == "tiled":
        mode = (name, tuple(mode["box_dims"]))
    else:
        mode = (name, tuple(mode["lower"]), tuple(mode["upper"]), mode["channels"], mode["pixels"])
    lists = (tuple(of[field]) for field in ("dims", "strides", "element_strides"))
    numbers = (0 if of[field] == "none" else int(of[field][1:])
               for field in ("interleave", "swizzle", "l2"))
    fill = {"zeros": "zero", "nan": "nan"}[of["oob"]]
    return (of["data_type"], *lists, *numbers, fill, mode)


def argument(arg):
    kind = arg["kind"]
    if kind == "pointer":
        return (kind, buffer(arg["buffer"]), arg["byte_offset"])
    if kind == "tensor_map":
        return (kind, buffer(arg["buffer"]), arg["byte_offset"], description(arg["map"]))
    if kind == "float":
        return (kind, float(arg["value"]))
    return (kind, arg["value"]) if "value" in arg else (kind,)


def step_of_kgen(step):
    if step["kind"] == "launch":
        args = tuple(argument(arg) for arg in step["args"])
        attributes = step.get("attributes", {})
        cluster = attributes.get("cluster")
        return ("launch", step["kernel"], tuple(step["grid"]), tuple(step["block"]), step["smem"],
                args, (cluster and tuple(cluster), attributes.get("pdl", False),
                       attributes.get("cooperative", False)))
    if step["kind"] == "copy":
        spec = step["source"]["spec"]
        layout = (spec["dtype"], tuple(spec["shape"]), tuple(spec["stride"]), spec["offset"])
        return ("copy", buffer(step["source"]["buffer"]), layout, buffer(step["target"]))
    if step["kind"] == "gemm":
        call = step["call"]
        m, n, k, batch = (call[name] for name in ("m", "n", "k", "batch"))

        def operand(name, dtype, shape):
            matrix = call[name]
            shape = shape if matrix["row_major"] else (shape[0], shape[2], shape[1])
            at = matrix["at"]
            return (buffer(at["buffer"]), at["byte_offset"], call[dtype], shape)

        return ("matmul", operand("left", "dtype", (batch, m, k)),
                operand("right", "dtype", (batch, k, n)), operand("out", "out_dtype", (batch, m, n)),
                not call["left"]["row_major"], not call["right"]["row_major"], call["alpha"],
                call["addend"] is not None)
    if step["kind"] == "convolution":
        call = step["call"]
        tensors = tuple((buffer(call[name]["buffer"]), call[name]["byte_offset"], call["dtype"],
                         tuple(call[f"{name}_shape"])) for name in ("input", "weight", "out"))
        numbers = tuple(tuple(call[name]) for name in ("stride", "padding", "dilation"))
        return ("convolution", *tensors, *numbers, call["groups"])
    return ("fill", buffer(step["target"]), step["byte"])


def step_of_python(step):
    if step[0] == "copy":
        source = step[1]
        layout = (str(source.dtype), source.shape, source.stride, source.offset)
        return ("copy", source.buffer, layout, step[2])
    return tuple((part.buffer, part.offset * part.itemsize, str(part.dtype), part.shape)
                 if isinstance(part, plan.View) else part for part in step)


def kgens(resolved):
    return {
        "defines": sorted((name, number(text)) for name, text in resolved["defines"]),
        "params": [(axis["name"], tuple(axis["values"]), axis["chosen"])
                   for axis in resolved["params"]],
        "scratch": [(item["bytes"], item["zero"]) for item in resolved["scratch"]],
        "steps": [step_of_kgen(step) for step in resolved["steps"]],
    }


def pythons(line):
    try:
        resolved = plan.Plan(line["plan"]).resolve(names_of(line), line["chosen"])
    except plan.Declined:
        return None
    return {
        "defines": sorted((name, number(text)) for name, text in resolved.defines.items()),
        "params": resolved.params,
        "scratch": resolved.scratch,
        "steps": [step_of_python(step) for step in resolved.steps],
    }


def main():
    n_lines, n_wrong = 0, 0
    for text in sys.stdin:
        line = json.loads(text)
        n_lines += 1
        expected = line["resolved"] and kgens(line["resolved"])
        got = pythons(line)
        # repr tells NaN from nothing else, and -0.0 from 0.0.
        if repr(got) != repr(expected):
            n_wrong += 1
            if n_wrong <= 3:
                print(f"{line['name']}:\n  kgen   {expected}\n  python {got}")
    print(f"{n_lines - n_wrong} of {n_lines} plans are equal")
    return 1 if n_wrong or not n_lines else 0


if __name__ == "__main__":
    sys.exit(main())

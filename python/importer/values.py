"""What a graph is made of, and what is known of the Python tensors that stand for its values."""


def reason(error):
    """The first line of an error's message, and the way out where there is one."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    if "NVIDIA driver" in first or "not compiled with CUDA" in first:
        return "it asks for a GPU; an import has none: leave out `.cuda()` and `device='cuda'`"
    return first


class Refused(Exception):
    """A file that cannot be a problem: one line, with the place in the user's file and the op where there are such."""

    def __init__(self, message, line=None, op=None):
        super().__init__(" ".join(str(message).split())[:500])
        self.line = line
        self.op = op


class Ref:
    """A value of the graph: output `index` of `source`, which is a Node or a Leaf."""

    def __init__(self, source, index=0):
        self.source = source
        self.index = index


class Leaf:
    """A tensor that the graph takes: input, parameter, buffer, constant."""

    def __init__(self, kind, tensor, path=None, name=None):
        self.kind = kind
        self.tensor = tensor
        self.path = path
        self.name = name


class Node:
    def __init__(self, func, args, kwargs, outputs, line):
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.outputs = outputs
        self.line = line
        self.name = None


class Entry:
    """What is known of one Python tensor: its value in the graph and, for a view, how it comes from its parent."""

    def __init__(self, ref, parent=None, again=None, func=None, args=()):
        self.ref = ref
        self.parent = parent
        self.again = again
        self.func = func
        self.args = args
        self.stamp = self.root().version if parent else 0
        self.version = 0

    def root(self):
        entry = self
        while entry.parent:
            entry = entry.parent
        return entry


def line_of(error, path):
    """The innermost line of the user's file in a traceback."""
    line, trace = None, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line

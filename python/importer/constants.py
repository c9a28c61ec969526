"""The file of a problem as a tree: which integers may vary, and the module with other values in their place."""

import ast
import re

# These say how something is computed rather than how much of it; a kernel may rely on small ones.
STRUCTURAL = re.compile("kernel|stride|pad|dilat|group|head|patch|window|block|layer|dim$|axis|pool|stage|repeat|scale")
SMALL_STRUCTURE = (64, 8)
SMALL_LITERAL = 8
# A function's name, inputs and the literals in them become these two, so that functions and modules are one case.
INPUTS_FILE = "<inputs>"
INPUTS = "def get_inputs():\n    return [{}]\ndef get_init_inputs():\n    return []\n"


class Slot:
    """One integer of the file that may vary."""

    def __init__(self, name, value, node):
        self.name = name
        self.value = value
        self.node = node


def structural(name):
    return bool(STRUCTURAL.search(name.lower().split("[")[0]))


def integer(node):
    """The value of an expression of integer literals, or None."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Pow)):
        left, right = integer(node.left), integer(node.right)
        if left is None or right is None or abs(left) > 2**40 or abs(right) > 2**40:
            return None
        if isinstance(node.op, ast.Pow) and not 0 <= right < 64 or isinstance(node.op, ast.FloorDiv) and right == 0:
            return None
        operation = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__}
        operation |= {ast.FloorDiv: int.__floordiv__, ast.Pow: int.__pow__}
        return operation[type(node.op)](left, right)
    return None


class Source:
    """A parsed file. `module` gives the code with some slots changed."""

    def __init__(self, path, text, function=None):
        self.path = path
        self.text = text
        self.tree = ast.parse(text, path)
        if function:
            self.tree.body += ast.parse(INPUTS.format(function["inputs"]), INPUTS_FILE).body
        self.split_chains()
        self.used = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        self.slots = []
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign):
                self.assigned(statement.targets[0], statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value:
                self.assigned(statement.target, statement.value)
            elif isinstance(statement, ast.FunctionDef) and statement.name in ("get_inputs", "get_init_inputs"):
                self.literals(statement)

    def split_chains(self):
        """`a = b = 128` as two statements: height and width may differ although they are written as one."""
        body = []
        for statement in self.tree.body:
            chain = isinstance(statement, ast.Assign) and len(statement.targets) > 1
            if chain and integer(statement.value) is not None:
                for target in statement.targets:
                    value = ast.copy_location(ast.Constant(integer(statement.value)), statement.value)
                    body.append(ast.copy_location(ast.Assign([target], value), statement))
            else:
                body.append(statement)
        self.tree.body = body

    def assigned(self, target, value):
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, (ast.Tuple, ast.List)) and len(target.elts) == len(value.elts):
                for one, its in zip(target.elts, value.elts):
                    self.assigned(one, its)
            return
        if not isinstance(target, ast.Name) or target.id not in self.used:
            return
        if integer(value) is not None:
            self.slots.append(Slot(target.id, integer(value), value))
            return
        # `[1024] * 16` repeats its element; the count is structure.
        elements = value.left if isinstance(value, ast.BinOp) else value
        if isinstance(elements, (ast.Tuple, ast.List)):
            for i, element in enumerate(elements.elts):
                if integer(element) is not None:
                    self.slots.append(Slot(f"{target.id}[{i}]", integer(element), element))

    def literals(self, function):
        """Sizes written inside get_inputs and get_init_inputs."""
        places = [f for f in ast.walk(function) if isinstance(f, (ast.Call, ast.Tuple, ast.List))]
        n = 0
        for place in places:
            for element in place.args if isinstance(place, ast.Call) else place.elts:
                value = integer(element)
                if value is not None and value >= SMALL_LITERAL:
                    self.slots.append(Slot(f"{function.name}#{n}", value, element))
                    n += 1

    def variable(self, structure):
        """The slots worth trying, the largest first; `structure` is whether those that say how are among them."""
        fit = [s for s in self.slots if s.value >= 2]
        fit = [s for s in fit if s.value >= SMALL_STRUCTURE[structure] or not structural(s.name)]
        return sorted(fit, key=lambda s: -s.value)

    def code(self, values):
        """The code with `values`, a dict from names of slots, put in."""
        places = {id(s.node): values[s.name] for s in self.slots if s.name in values}

        class Put(ast.NodeTransformer):
            def visit(self, node):
                if id(node) in places:
                    return ast.copy_location(ast.Constant(places[id(node)]), node)
                return super().generic_visit(node)

        tree = Put().visit(copied(self.tree, places)) if places else self.tree
        return compile(ast.fix_missing_locations(tree), self.path, "exec")

    def constants(self, values):
        """All integers of the file's top level, by name."""
        return {s.name: values.get(s.name, s.value) for s in self.slots}


def copied(tree, places):
    """A copy of `tree` as far as it leads to a changed place; the rest is shared, as code is large and changes few."""
    holds = {}

    def holds_place(node):
        key = id(node)
        if key not in holds:
            holds[key] = key in places or any([holds_place(child) for child in ast.iter_child_nodes(node)])
        return holds[key]

    def copy(node):
        if id(node) in places or not holds_place(node):
            return node
        fields = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                value = [copy(v) if isinstance(v, ast.AST) else v for v in value]
            elif isinstance(value, ast.AST):
                value = copy(value)
            fields[name] = value
        return ast.copy_location(type(node)(**fields), node)

    return copy(tree)

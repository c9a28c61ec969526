//! Plans that are refused.

use super::*;

/// A plan, line and column of its error, a part of its message, and a part of its hint.
type Wrong = (&'static str, u32, u32, &'static str, &'static str);

const WRONG: &[Wrong] = &[
    // Syntax.
    ("a = 1 / 2", 1, 7, "`/` is not part", "use `//`"),
    ("a = 2 ** 3", 1, 7, "`**` is not part", "<<"),
    ("def f(x):\n    return x", 1, 1, "`def` is not part", "in line"),
    ("f = lambda x: x", 1, 5, "`lambda` is not part", "in line"),
    ("while True:\n    pass", 1, 1, "`while` is not part", "range"),
    ("import torch", 1, 1, "`import` is not part", "builtins"),
    ("return 1", 1, 1, "`return` is not part", "if"),
    ("assert k > 0", 1, 1, "`assert` is not part", "require"),
    ("for i in range(3):\n    break", 2, 5, "`break` is not part", "range"),
    ("self.shape = 3", 1, 1, "`self.shape` cannot be assigned", "read-only"),
    ("dim[0] = 3", 1, 1, "`dim[0]` cannot be assigned", "read-only"),
    ("min = 3", 1, 1, "`min` is a builtin", "another name"),
    ("1 = 2", 1, 1, "only plain names", ""),
    ("a = b = 1", 1, 7, "chained assignment", "one assignment"),
    ("a: int = 1", 1, 2, "annotations", ""),
    ("a == 1", 1, 1, "no effect", ""),
    ("if k = 1:\n    pass", 1, 6, "expected `:`, found `=`", "`==`"),
    ("if (k := 1):\n    pass", 1, 7, "expected", "statement of its own"),
    ("if k\n    pass", 1, 5, "expected `:`", ""),
    ("if k:\npass", 2, 1, "indented block", ""),
    ("a = 1\n  b = 2", 2, 3, "unexpected indentation", ""),
    ("if k:\n    a = 1\n  b = 2", 3, 3, "matches no open block", "same number"),
    ("\ta = 1", 1, 1, "a tab", "spaces"),
    ("else:\n    pass", 1, 1, "expected a statement", ""),
    ("a = (1, 2\nb = 3", 1, 5, "`(` is never closed", ""),
    ("a = [1 2]", 1, 8, "expected `,` or `]`", ""),
    ("a = 1 2", 1, 7, "end of the statement", ""),
    ("a = ", 1, 5, "expected an expression", ""),
    ("a = k if k", 1, 11, "expected `else`", ""),
    ("a = [i for i in range(3)]", 1, 8, "expected `,` or `]`", "comprehensions"),
    ("a = self.shape[:-1]", 1, 16, "expected an expression", ""),
    ("a = self.shape[0:1]", 1, 17, "slices", "single elements"),
    ("launch(*self.shape)", 1, 8, "unpacking", "one by one"),
    ("a = f'{k}'", 1, 6, "expected an operator", "f-strings"),
    ("a = 'x", 1, 5, "closing quote", "one line"),
    ("a = 'x\\n'", 1, 5, "closing quote", "no escapes"),
    ("\"\"\"doc\"\"\"", 1, 1, "triple-quoted", "#"),
    ("a = {1: 2}", 1, 5, "`{` is not part", "dictionaries"),
    ("a = k && 1", 1, 7, "`&&` is not part", "`and`"),
    ("a = k || 1", 1, 7, "`||` is not part", "`or`"),
    ("a = !k", 1, 5, "`!` is not part", "`not`"),
    ("a = k ? 1 : 2", 1, 7, "`?` is not part", "if"),
    ("a = $", 1, 5, "unexpected character `$`", ""),
    ("a = 99999999999999999999", 1, 5, "64-bit", ""),
    ("a = 12abc", 1, 5, "not a number", ""),
    ("a = 1.2.3", 1, 5, "not a number", ""),
    // Names and attributes.
    ("a = selff.numel", 1, 5, "unknown name `selff`", "did you mean `self`"),
    ("a = zzz", 1, 5, "unknown name `zzz`", "known here: approximate"),
    ("lanch('k', 1, 1)", 1, 1, "unknown function `lanch`", "`launch`"),
    ("qqq(1)", 1, 1, "unknown function `qqq`", "builtins only"),
    ("a = cdiv", 1, 5, "`cdiv` is a function", "cdiv(..)"),
    ("a = self.shap", 1, 9, "no attribute `shap`", "`shape`"),
    ("a = self.zzz", 1, 9, "no attribute `zzz`", "shape, stride"),
    ("a = k.shape", 1, 5, "an integer has no attribute", ""),
    ("a = weight.numel", 1, 5, "None has no attribute", "has(x)"),
    ("a = self.size(0)", 1, 5, "`.size()` is no method", "x.shape[i]"),
    ("a = self.stride(0)", 1, 5, "`.stride()` is no method", "x.stride[i]"),
    ("a = self.contiguous()", 1, 5, "`.contiguous()` is no method", "contiguous(x)"),
    ("a = self.foo()", 1, 5, "`.foo()` is no method", "no methods"),
    ("a = (1)(2)", 1, 5, "cannot be called", ""),
    // Values.
    ("a = 'x' + 'y'", 1, 5, "`+` does not work on a string", "strings"),
    ("a = [1] * 3", 1, 5, "`*` does not work on a tuple", "tuples"),
    ("a = out + 4", 1, 5, "`+` does not work on a tensor", "ptr"),
    ("a = 1.5 // 2", 1, 5, "integers only", "divide in the kernel"),
    ("a = k // 0", 1, 5, "division by zero", "0 elements"),
    ("a = k % 0", 1, 5, "division by zero", "0 elements"),
    ("a = 1 << 64", 1, 5, "shift by 64", ""),
    ("a = 1 >> -1", 1, 5, "shift by -1", ""),
    ("a = 1 << 63", 1, 5, "overflows", ""),
    ("a = 9223372036854775807 + 1", 1, 5, "`+` overflows", ""),
    ("a = -9223372036854775807 - 2", 1, 5, "`-` overflows", ""),
    ("a = 4611686018427387904 * 2", 1, 5, "`*` overflows", ""),
    ("a = -'x'", 1, 5, "cannot negate a string", ""),
    ("a = 'x' < 'y'", 1, 11, "cannot order", ""),
    ("a = self == out", 1, 13, "cannot be compared", "shapes"),
    ("a = k is 7", 1, 10, "`is` compares", "`==`"),
    ("a = 1 in 5", 1, 10, "`in` needs a tuple", ""),
    ("a = self.dtype == 'float32'", 1, 19, "`float32` is no dtype", "f32"),
    ("if weight or self: pass", 1, 4, "neither true nor false", "has(x)"),
    ("if approximate: pass", 1, 4, "a string is neither", "compare"),
    ("a = k[0]", 1, 5, "cannot be indexed", ""),
    ("a = self[0]", 1, 5, "cannot be indexed", "never sees data"),
    ("a = dim[2]", 1, 9, "index 2 is outside a tuple of 2", ""),
    ("a = dim[-3]", 1, 9, "index -3", ""),
    ("a = dim['x']", 1, 9, "expected an integer", ""),
    ("a, b = 1, 2, 3", 1, 8, "3 values for 2 names", ""),
    ("a, b = 1", 1, 8, "cannot be assigned to 2 names", ""),
    ("for i in 3: pass", 1, 10, "cannot run over", "range"),
    ("a = (((1,),),)", 1, 6, "nested too deeply", ""),
    // Builtins.
    ("a = cdiv(1)", 1, 5, "`cdiv` misses `b`", "cdiv(a, b)"),
    ("a = cdiv(1, 2, 3)", 1, 16, "takes 2 positional", "cdiv(a, b)"),
    ("a = cdiv(1, a=2)", 1, 15, "`a` is given twice", ""),
    ("a = cdiv(1, c=2)", 1, 15, "no argument `c`", "cdiv(a, b)"),
    ("a = cdiv(a=1, 2)", 1, 15, "positional argument follows", "name it"),
    ("a = cdiv(1, 0)", 1, 13, "at least 1", "max(n, 1)"),
    ("a = cdiv('x', 1)", 1, 10, "expected an integer, found a string", ""),
    ("a = min()", 1, 5, "`min` of nothing", ""),
    ("a = max('x', 1)", 1, 5, "compares numbers", ""),
    ("a = min(a=1)", 1, 11, "no named arguments", ""),
    ("a = align_up(9223372036854775807, 2)", 1, 5, "overflows", ""),
    ("a = next_pow2(9223372036854775807)", 1, 15, "overflows", ""),
    ("a = next_pow2(-1)", 1, 15, "at least 0", ""),
    ("a = ilog2(0)", 1, 11, "at least 1", ""),
    ("a = len(self)", 1, 9, "`len` of a tensor", "x.ndim"),
    ("a = len(3)", 1, 9, "`len` needs a tuple", ""),
    ("a = prod(self)", 1, 10, "`prod` needs a tuple", "x.numel"),
    ("a = prod((4294967296, 4294967296))", 1, 5, "overflows", ""),
    ("a = prod((1.5, 2))", 1, 10, "expected an integer", ""),
    ("for i in range(0, 4, 0): pass", 1, 10, "step 0", ""),
    ("require(self.numel)", 1, 9, "needs a condition", ""),
    ("require(False, 3)", 1, 16, "the message is a string", ""),
    ("a = param('P', [])", 1, 16, "1 to 16 integers", "param("),
    ("a = param('P', ['x'])", 1, 16, "1 to 16 integers", "param("),
    ("a = param('P', 3)", 1, 16, "1 to 16 integers", "param("),
    ("a = param('P', [1, 1])", 1, 16, "a value twice", ""),
    ("param('P', [1]); param('P', [2])", 1, 18, "already", ""),
    ("param('P', [1]); define('P', 2)", 1, 18, "is 1 already, now 2", "one value"),
    ("define('P Q', 2)", 1, 8, "cannot be a macro", ""),
    ("define('', 2)", 1, 8, "cannot be a macro", ""),
    ("define('T_self', 2)", 1, 8, "kgen's own", "another"),
    ("define('__x', 2)", 1, 8, "kgen's own", "another"),
    ("define('A', self)", 1, 13, "cannot be a macro", "type names"),
    ("define('A', 'a\"b')", 1, 13, "number or the name", ""),
    ("define(3, 4)", 1, 8, "is a string", ""),
    ("a = scratch(-1)", 1, 13, "at least 0", ""),
    ("a = scratch(9000000000)", 1, 5, "scratch buffers come to 9000000000 bytes", "shapes"),
    (
        "for i in range(3): a = scratch(100000000)",
        1,
        24,
        "scratch buffers come to 300000000",
        "shapes",
    ),
    (
        "a = scratch(200000000, zero=True)\nfor i in range(63): fill(a, 0)",
        2,
        21,
        "copies write",
        "shapes",
    ),
    ("a = expand(other, (134217728, 8))", 1, 5, "scratch buffers come to", "shapes"),
    ("launch('k', grid=(2147483647, 9), block=1024)", 1, 1, "launches come to", "shapes"),
    ("a = scratch(8, zero=1)", 1, 21, "True or False", ""),
    ("a = scratch(8, align=3)", 1, 22, "power of two", ""),
    ("for i in range(257): a = scratch(8)", 1, 26, "256 scratch buffers", ""),
    ("fill(self, 0)", 1, 6, "read-only", ""),
    ("fill(out, 256)", 1, 11, "0 to 255", ""),
    ("fill(ptr(out, 4), 0)", 1, 6, "needs an output", "whole buffers"),
    ("for i in range(257): fill(out, 0)", 1, 22, "256 fills", ""),
    ("a = ptr(3, 4)", 1, 9, "`ptr` needs", ""),
    ("a = ptr(self, -4)", 1, 5, "before its buffer", ""),
    ("a = contiguous(3)", 1, 16, "needs a tensor", ""),
    ("a = expand(3, (1,))", 1, 12, "needs a tensor", ""),
    ("a = expand(self, 3)", 1, 18, "tuple of extents", ""),
    ("a = expand(self, (6, -1))", 1, 18, "tuple of extents", ""),
    ("a = expand(self, (8,))", 1, 18, "do not expand", "equal or 1"),
    ("a = expand(self, (6, 9))", 1, 18, "does not expand to 9", "equal or 1"),
    ("a = expand(other, (4000000000, 4000000000, 8))", 1, 5, "too large", ""),
    ("a = f32('x')", 1, 9, "expected a number", ""),
    ("a = i32(3000000000)", 1, 9, "does not fit 32 bits", "long long"),
    ("a = i32(1e300)", 1, 9, "expected a number", ""),
    ("a = tmap(self, box=[1])", 1, 5, "not supported", "pointers"),
    // Launches.
    ("launch('k')", 1, 1, "misses `grid`", "launch(\"kernel\""),
    ("launch('k', 1, 1, 0)", 1, 19, "takes 3 positional", "launch("),
    ("launch('k', 1, 1, gird=2)", 1, 24, "no argument `gird`", "`grid`"),
    ("launch('k<<<1>>>;', 1, 1)", 1, 8, "no kernel's name", ""),
    ("launch(k, 1, 1)", 1, 8, "is a string", ""),
    ("launch('k', -1, 1)", 1, 13, "`grid.x` is -1", ""),
    ("launch('k', (1, 70000), 1)", 1, 13, "`grid.y` is 70000", "into x"),
    ("launch('k', 2147483648, 1)", 1, 13, "`grid.x`", ""),
    ("launch('k', (1, 1, 1, 1), 1)", 1, 13, "1 to 3 integers", ""),
    ("launch('k', 1.5, 1)", 1, 13, "1 to 3 integers", ""),
    ("launch('k', 1, 0)", 1, 16, "`block.x` is 0", ""),
    ("launch('k', 1, 1025)", 1, 16, "`block.x` is 1025", ""),
    ("launch('k', 1, (1, 1, 65))", 1, 16, "`block.z` is 65", ""),
    ("launch('k', 1, (64, 32))", 1, 16, "at most 1024 threads, this one 2048", ""),
    ("launch('k', 1, 1, smem=300000)", 1, 24, "300000 bytes", "smem_max"),
    ("launch('k', 1, 1, smem=-1)", 1, 24, "at least 0", ""),
    ("launch('k', 1, 1, args=self)", 1, 24, "`args` is a list", "args=["),
    ("launch('k', 1, 1, args=[k, self.shape])", 1, 28, "argument 2 is a tuple", "one by one"),
    ("launch('k', 1, 1, args=['x'])", 1, 25, "argument 1 is a string", "define"),
    ("launch('k', 1, 1, cluster=2)", 1, 27, "`cluster` is not supported", "in order"),
    ("launch('k', 1, 1, cooperative=True)", 1, 31, "`cooperative` is not", "in order"),
    ("launch('k', 1, 1, pdl=True)", 1, 23, "`pdl` is not supported", "in order"),
    ("for i in range(4097): launch('k', 1, 1)", 1, 23, "4096 launches", "inside a kernel"),
];

#[test]
fn every_error_names_its_place_and_the_way_out() {
    let mut wrong = Vec::new();
    for &(plan, line, column, message, hint) in WRONG {
        let error = error(plan);
        let given = error.hint.as_deref().unwrap_or_default();
        let right = error.message.contains(message)
            && (error.line, error.column) == (line + 1, column)
            && given.contains(hint)
            && hint.is_empty() == given.is_empty();
        if !right {
            wrong.push(format!("{plan}\n    {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hostile_plans_end_quickly_and_without_a_panic() {
    let deep =
        |open: &str, close: &str| format!("a = {}1{}", open.repeat(5000), close.repeat(5000));
    let cases = [
        ("for i in range(1000000000): pass".to_owned(), "100000 steps"),
        ("for i in range(9000):\n  for j in range(9000):\n    pass".to_owned(), "100000 steps"),
        ("t = (1, 2)\nfor i in range(9000): t = (t, t)".to_owned(), "nested too deeply"),
        (deep("(", ")"), "nested too deeply"),
        (deep("[", "]"), "nested too deeply"),
        (deep("-", ""), "nested too deeply"),
        (deep("not ", ""), "nested too deeply"),
        (deep("abs(", ")"), "nested too deeply"),
        (deep("1 if 1 else ", ""), "nested too deeply"),
        (format!("a = 1{}", " + 1".repeat(5000)), "too long"),
        (format!("a = 1{}", " and 1".repeat(5000)), "too long"),
        (format!("a = dim{}", "[0]".repeat(5000)), "too long"),
        (format!("a = k{}", ".x".repeat(5000)), "too long"),
        (format!("a = [{}]", "1, ".repeat(5000)), "at most 256"),
        (format!("a = {}1", "1, ".repeat(5000)), "at most 256"),
        (format!("a = 1{}", " < 1".repeat(5000)), "at most 256"),
        (format!("a = max({})", "1, ".repeat(5000)), "at most 256"),
        ("#".repeat(70_000), "longer than"),
        (
            (0..40).map(|depth| format!("{}if 1:\n", " ".repeat(depth))).collect::<String>(),
            "nested too deeply",
        ),
    ];
    for (plan, message) in cases {
        let error = error(&plan);
        assert!(error.message.contains(message), "{}: {error}", &plan[..40.min(plan.len())]);
    }
    // Any prefix of a plan, and any plan with a character lost, ends in a result.
    let start = EXAMPLE.find("x = ").unwrap();
    let end = EXAMPLE.find("@*/").unwrap();
    let env = relu(TensorSpec::contiguous(DType::F32, &[4]));
    for cut in start..end {
        let lost = format!("{}{}", &EXAMPLE[start..cut], &EXAMPLE[cut + 1..end]);
        for plan in [&EXAMPLE[start..cut], &lost] {
            drop(run(&env, plan, &[]));
        }
    }
}

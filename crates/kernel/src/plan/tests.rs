use std::collections::BTreeMap;

use kgen_ops::op;
use kgen_record::{
    Arg, ArgValue, BufferRef, Case, CaseClass, DType, Gen, InputDistribution, PlanArg,
    ResolvedPlan, Step, Target, TensorArg, TensorSpec,
};

use super::{
    Builtin, Env, LaunchPlanError, PlanError, plan_name, plan_names, resolve, type_macros,
};
use crate::KernelFile;

mod hopper;
mod wrong;

/// The example of the kernel file contract.
const EXAMPLE: &str = r#"/*@plan
x = contiguous(self)                                  # kgen's copy kernel runs first if self is strided; its time counts
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 and n % (16 // x.itemsize) == 0 else 1)   # -DVEC=..
block = param("BLOCK", [128, 256])                    # autotune axis, -DBLOCK=..
launch("relu", grid=min(cdiv(n, block * vec), 16 * sm_count), block=block, args=[x, out, n])
@*/
extern "C" __global__ void relu(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {}
"#;

pub(super) fn tensor(spec: TensorSpec) -> ArgValue {
    ArgValue::Tensor(TensorArg { spec, generator: Gen::Constant { value: 1.0 } })
}

pub(super) fn case(args: &[(&str, ArgValue)]) -> Case {
    let arg =
        |(name, value): &(&str, ArgValue)| Arg { name: (*name).to_owned(), value: value.clone() };
    Case {
        id: "case".to_owned(),
        op: "op".to_owned(),
        count: None,
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: false,
        in_place: false,
        args: args.iter().map(arg).collect(),
    }
}

/// Inputs: `self` f32[6, 8], `other` f16[8] at element 3, `t` a transposed f32[5, 4], no `weight`.
pub(super) fn env() -> Env {
    let other = TensorSpec { offset: 3, ..TensorSpec::contiguous(DType::F16, &[8]) };
    let t = TensorSpec { dtype: DType::F32, shape: vec![5, 4], stride: vec![1, 5], offset: 0 };
    let case = case(&[
        ("self", tensor(TensorSpec::contiguous(DType::F32, &[6, 8]))),
        ("other", tensor(other)),
        ("t", tensor(t)),
        ("weight", ArgValue::None),
        ("dim", ArgValue::Ints(vec![-1, 0])),
        ("eps", ArgValue::Float(1e-5)),
        ("k", ArgValue::Int(7)),
        ("keepdim", ArgValue::Bool(true)),
        ("approximate", ArgValue::Str("tanh".to_owned())),
    ]);
    Env::new(&case, &[TensorSpec::contiguous(DType::F32, &[6, 8])], &Target::h100_class())
}

pub(super) fn run(
    env: &Env,
    plan: &str,
    chosen: &[(&str, i64)],
) -> Result<ResolvedPlan, LaunchPlanError> {
    let file = KernelFile::parse(&format!("/*@plan\n{plan}\n@*/\n")).unwrap();
    let chosen: BTreeMap<_, _> = chosen.iter().map(|(name, v)| ((*name).to_owned(), *v)).collect();
    resolve(&file, env, &chosen)
}

fn resolved(plan: &str) -> ResolvedPlan {
    run(&env(), plan, &[]).unwrap_or_else(|error| panic!("{plan}: {error}"))
}

fn error(plan: &str) -> PlanError {
    match run(&env(), plan, &[]) {
        Err(LaunchPlanError::Error(error)) => error,
        other => panic!("{plan}: {other:?}"),
    }
}

/// Kernel, grid, block, shared memory and arguments of a launch.
type Launched<'a> = (&'a str, [u32; 3], [u32; 3], u32, &'a [PlanArg]);

fn launches(plan: &ResolvedPlan) -> Vec<Launched<'_>> {
    plan.steps
        .iter()
        .filter_map(|step| match step {
            Step::Launch { kernel, grid, block, smem, args, .. } => {
                Some((kernel.as_str(), *grid, *block, *smem, args.as_slice()))
            }
            _ => None,
        })
        .collect()
}

fn int(value: i64) -> PlanArg {
    PlanArg::Int { value }
}

fn relu(spec: TensorSpec) -> Env {
    let outputs = [TensorSpec::contiguous(spec.dtype, &spec.shape)];
    Env::new(&case(&[("self", tensor(spec))]), &outputs, &Target::h100_class())
}

#[test]
fn lists_are_tuples_whatever_their_length() {
    let one = |dtype, shape: &[usize]| {
        Some(TensorArg {
            spec: TensorSpec::contiguous(dtype, shape),
            generator: Gen::Constant { value: 1.0 },
        })
    };
    let list = vec![one(DType::F32, &[2, 3]), None, one(DType::I64, &[4])];
    let case = case(&[
        ("tensors", ArgValue::Tensors(list)),
        ("self", tensor(TensorSpec::contiguous(DType::Bool, &[5]))),
        ("scales", ArgValue::Floats(vec![0.5, 2.0])),
        ("dtype", ArgValue::DType(DType::F8E4M3)),
    ]);
    let output = TensorSpec::contiguous(DType::F32, &[2]);
    let env = Env::new(&case, std::slice::from_ref(&output), &Target::h100_class())
        .with_output_list(std::slice::from_ref(&output));
    let plan = r#"
total = 0
for t in tensors:
    if has(t):
        total += t.numel
define("T_NEW", dtype)
define("T_LAST", tensors[2].dtype)
require(tensors[1] is None and dtype == "f8e4m3" and self.itemsize == 1)
launch("k", grid=len(out), block=32, args=[tensors[0], tensors[1], tensors[2], self, out[0], total, scales[1]])
"#;
    let plan = run(&env, plan, &[]).unwrap();
    let pointer = |buffer, dtype, label: &str| PlanArg::Pointer {
        buffer,
        byte_offset: 0,
        dtype: Some(dtype),
        label: label.to_owned(),
    };
    let args = [
        pointer(BufferRef::Input(0), DType::F32, "tensors[0]"),
        PlanArg::Null,
        pointer(BufferRef::Input(1), DType::I64, "tensors[2]"),
        pointer(BufferRef::Input(2), DType::Bool, "self"),
        pointer(BufferRef::Output(0), DType::F32, "out0"),
        int(10),
        PlanArg::Float { value: 2.0 },
    ];
    assert_eq!(launches(&plan), [("k", [1, 1, 1], [32, 1, 1], 0, &args[..])]);
    let defines = [("T_LAST", "long long"), ("T_NEW", "__nv_fp8_e4m3")];
    let defines = defines.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(plan.defines, defines);
    let outputs = [output.clone(), output];
    let env = Env::new(&case, &outputs, &Target::h100_class());
    let plan = "launch(\"k\", grid=len(out), block=1, args=[out[1], out1])";
    let plan = run(&env, plan, &[]).unwrap();
    let second = pointer(BufferRef::Output(1), DType::F32, "out1");
    assert_eq!(launches(&plan)[0].4, [second.clone(), second]);
}

#[test]
fn a_launch_takes_forty_arguments_and_a_copy_eight_dimensions() {
    let spec = TensorSpec::contiguous(DType::I8, &[2; 12]);
    let env = relu(spec);
    let args: Vec<String> =
        (0..12).map(|d| format!("self.shape[{d}], self.stride[{d}], out.stride[{d}]")).collect();
    let text = format!("launch(\"k\", grid=1, block=1, args=[self, out, {}])", args.join(", "));
    let plan = run(&env, &text, &[]).unwrap();
    assert_eq!(launches(&plan)[0].4.len(), 38);
    let transposed = TensorSpec {
        stride: (0..9).map(|dim| 1 << dim).collect(),
        ..TensorSpec::contiguous(DType::I8, &[2; 9])
    };
    let Err(LaunchPlanError::Error(error)) = run(&relu(transposed), "x = contiguous(self)", &[])
    else {
        panic!("nine dimensions are copied");
    };
    assert!(error.to_string().contains("at most 8 dimensions"), "{error}");
    let zero_dim = relu(TensorSpec::contiguous(DType::F8E5M2, &[]));
    let plan =
        "x = expand(self, (2, 0))\ny = expand(self, (3, 4))\nlaunch(\"k\", grid=x.numel, block=1)";
    let plan = run(&zero_dim, plan, &[]).unwrap();
    assert_eq!(plan.scratch.iter().map(|scratch| scratch.bytes).collect::<Vec<_>>(), [0, 12]);
    assert_eq!(plan.steps.len(), 1, "{:?}", plan.steps);
}

#[test]
fn no_argument_hides_a_builtin() {
    assert_eq!(plan_name("min"), "min_");
    assert_eq!(plan_name("self"), "self");
    let op = op::find("clamp").unwrap();
    assert_eq!(plan_names(op), ["self", "min_", "max_"]);
}

#[test]
fn tensors_left_out_have_a_type_macro() {
    let args = ["self", "target", "weight"].map(|name| {
        let dtype = if name == "target" { DType::I64 } else { DType::F32 };
        let shape: &[usize] = if name == "target" { &[4] } else { &[4, 3] };
        (name, tensor(TensorSpec::contiguous(dtype, shape)))
    });
    let mut case = case(&args);
    case.args[2].value = ArgValue::None;
    let numbers = [
        ("reduction", ArgValue::Int(0)),
        ("ignore_index", ArgValue::Int(-100)),
        ("label_smoothing", ArgValue::Float(0.0)),
    ];
    case.args.extend(numbers.map(|(name, value)| Arg { name: name.to_owned(), value }));
    let macros = type_macros(op::find("cross_entropy_loss").unwrap(), &case).unwrap();
    let macros: Vec<String> =
        macros.iter().map(|(name, dtype)| format!("{name}={dtype}")).collect();
    assert_eq!(macros, ["T_self=f32", "T_target=i64", "T_weight=f32", "T_out=f32"]);
}

#[test]
fn the_example_resolves_on_every_kind_of_shape() {
    let file = KernelFile::parse(EXAMPLE).unwrap();
    let f32 = |shape: &[usize]| TensorSpec::contiguous(DType::F32, shape);
    let misaligned = TensorSpec { offset: 1, ..f32(&[4096]) };
    let cases = [
        (f32(&[1024, 1024]), 128, "4", 2048),
        (f32(&[1024, 1024]), 256, "4", 1024),
        (f32(&[1 << 20, 64]), 128, "4", 16 * 132),
        (f32(&[127]), 128, "1", 1),
        (f32(&[]), 128, "1", 1),
        (misaligned, 128, "1", 32),
        (TensorSpec::contiguous(DType::F16, &[4096]), 128, "8", 4),
        (TensorSpec::contiguous(DType::BF16, &[4100]), 128, "1", 33),
    ];
    for (spec, block, vec, grid) in cases {
        let numel = i64::try_from(spec.numel()).unwrap();
        let chosen = BTreeMap::from([("BLOCK".to_owned(), block)]);
        let plan = resolve(&file, &relu(spec.clone()), &chosen).unwrap();
        let defines = [("BLOCK".to_owned(), block.to_string()), ("VEC".to_owned(), vec.to_owned())];
        assert_eq!(plan.defines, defines, "{spec:?}");
        assert_eq!(plan.params[0].values, [128, 256]);
        let [(kernel, g, b, smem, args)] = launches(&plan)[..] else { panic!("{plan:?}") };
        assert_eq!((kernel, g, smem), ("relu", [grid, 1, 1], 0), "{spec:?}");
        assert_eq!(i64::from(b[0]), block);
        assert_eq!(args[2], int(numel));
        assert!(matches!(plan.steps[0], Step::Launch { line: 6, .. }));
    }
    let empty = resolve(&file, &relu(f32(&[0, 5])), &BTreeMap::new()).unwrap();
    assert!(empty.steps.is_empty());
    let strided =
        TensorSpec { dtype: DType::F32, shape: vec![64, 32], stride: vec![1, 64], offset: 0 };
    let plan = resolve(&file, &relu(strided.clone()), &BTreeMap::new()).unwrap();
    let Step::Copy { source, target } = &plan.steps[0] else { panic!("{plan:?}") };
    assert_eq!((&source.spec, *target), (&strided, BufferRef::Scratch(0)));
    assert_eq!((plan.scratch[0].label.as_str(), plan.scratch[0].bytes), ("x", 8192));
    assert_eq!(plan.defines[1].1, "4");
}

/// Every expression with its value, computed by the plan and passed as an argument.
#[test]
fn prod_takes_the_bounds_of_a_slice() {
    let products = [
        ("prod((2, 3, 5))", 30),
        ("prod(())", 1),
        ("prod((2, 3, 5), 1)", 15),
        ("prod((2, 3, 5), 0, 2)", 6),
        ("prod((2, 3, 5), -1)", 5),
        ("prod((2, 3, 5), 0, -1)", 6),
        ("prod((2, 3, 5), 7)", 1),
        ("prod((2, 3, 5), -7, 9)", 30),
        ("prod((2, 3, 5), 2, 1)", 1),
        ("prod((2, 0, 5), stop=2)", 0),
    ];
    for (expression, value) in products {
        let plan = resolved(&format!("launch('k', 1, 1, args=[{expression}])"));
        assert_eq!(launches(&plan)[0].4, [int(value)], "{expression}");
    }
}

#[test]
fn expressions_have_pythons_values() {
    let ints = [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("7 // -2", -4),
        ("-7 % 3", 2),
        ("7 % -3", -2),
        ("1 << 10", 1024),
        ("-1 << 62", -(1 << 62)),
        ("-5 >> 1", -3),
        ("6 & 3 | 8 ^ 1", 11),
        ("1 + 2 << 3", 24),
        ("- -3", 3),
        ("0x10 + 0b11 + 1_000", 1019),
        ("True + True", 2),
        ("1 if 1 < 2 < 3 else 2", 1),
        ("1 if 1 < 2 > 3 else 2", 2),
        ("1 if not 0 else 2", 1),
        ("0 or 5", 5),
        ("3 and 5", 5),
        ("0 and 1 // 0", 0),
        ("1 if k == 7 and keepdim else 0", 1),
        ("1 if approximate == 'tanh' else 0", 1),
        ("1 if approximate != \"none\" else 0", 1),
        ("1 if weight is None else 0", 1),
        ("1 if self is not None else 0", 1),
        ("1 if weight == None else 0", 1),
        ("1 if k in (1, 7) else 0", 1),
        ("1 if k not in [1, 2] else 0", 1),
        ("1 if self.shape == (6, 8) else 0", 1),
        ("1 if self.shape != other.shape else 0", 1),
        ("1 if 1 == 1.0 else 0", 1),
        ("1 if eps < 1 else 0", 1),
        ("1 if self.dtype == 'f32' else 0", 1),
        ("1 if 'f16' == other.dtype else 0", 1),
        ("1 if self.dtype in ('f16', 'bf16') else 0", 0),
        ("1 if self.dtype != other.dtype else 0", 1),
        ("dim[0]", -1),
        ("dim[-1]", 0),
        ("(4, 5, 6)[1]", 5),
        ("[4, 5, 6][-3]", 4),
        ("self.shape[-1] * self.stride[0]", 64),
        ("self.ndim + self.numel", 50),
        ("other.itemsize", 2),
        ("other.align", 2),
        ("self.align", 256),
        ("1 if t.contiguous else 0", 0),
        ("cc", 90),
        ("sm_count", 132),
        ("smem_max", 232_448),
        ("l2_bytes", 50 << 20),
        ("out.shape[1]", 8),
        ("cdiv(7, 2)", 4),
        ("cdiv(0, 2)", 0),
        ("cdiv(-7, 2)", -3),
        ("cdiv(b=2, a=8)", 4),
        ("min(3, 1, 2)", 1),
        ("max(3, 1, 2)", 3),
        ("max(self.shape)", 8),
        ("min(5)", 5),
        ("abs(-4)", 4),
        ("align_up(13, 8)", 16),
        ("next_pow2(0)", 1),
        ("next_pow2(1000)", 1024),
        ("ilog2(1023)", 9),
        ("1 if is_pow2(64) and not is_pow2(0) and not is_pow2(6) else 0", 1),
        ("len(self.shape)", 2),
        ("len(())", 0),
        ("1 if has(self) and not has(weight) else 0", 1),
        ("1 if has(dim) else 0", 1),
        ("i32(3.9)", 3),
        ("int(-3.9)", -3),
        ("define('A', 5)", 5),
        ("param('P', [3, 4])", 3),
    ];
    for (expression, value) in ints {
        let plan = resolved(&format!("launch('k', 1, 1, args=[{expression}])"));
        assert_eq!(launches(&plan)[0].4, [int(value)], "{expression}");
    }
    let floats = [
        ("1.5 + 2", 3.5),
        ("-(.5 - 1e0)", 0.5),
        ("2 * 2.5", 5.0),
        ("eps", 1e-5),
        ("f32(0.1)", f64::from(0.1_f32)),
        ("float(3)", 3.0),
        ("abs(-0.5)", 0.5),
        ("min(0.5, 1)", 0.5),
        ("max(1.5, 1)", 1.5),
    ];
    for (expression, value) in floats {
        let plan = resolved(&format!("launch('k', 1, 1, args=[{expression}])"));
        assert_eq!(launches(&plan)[0].4, [PlanArg::Float { value }], "{expression}");
    }
}

#[test]
fn statements_run_as_in_python() {
    let plans = [
        ("a = 1; b = a + 1; c = b", 2),
        ("a, c = 1, 2", 2),
        ("m, c = self.shape", 8),
        ("(m, c) = (1, 2)", 2),
        ("c = 1\nc += 2\nc *= 5\nc -= 1\nc //= 2\nc <<= 2\nc |= 1", 29),
        ("c = 0\nfor i in range(4):\n    c += i", 6),
        ("c = 0\nfor i in range(5, 0, -2):\n  c = c * 10 + i", 531),
        ("c = 1\nfor d in self.shape: c *= d", 48),
        (
            "c = 0\nfor i in range(3):\n    for j in range(3):\n        if i == j:\n            c += 1",
            3,
        ),
        ("if k > 9:\n    c = 1\nelif k > 6:\n    c = 2\nelse:\n    c = 3", 2),
        ("if k > 9:\n    c = 1\nelse:\n    c = 3  # why", 3),
        ("if k > 9: c = 1\nelse: c = 4", 4),
        ("c = (1 +\n     2\n  # inside\n     + 3)", 6),
        ("c = 1 + \\\n  2", 3),
        ("  # indented as a whole\n  c = 5\n\n  if c:\n      pass\n", 5),
        ("self = contiguous(self)\nc = self.numel", 48),
    ];
    for (statements, value) in plans {
        let indent = if statements.starts_with("  #") { "  " } else { "" };
        let plan = resolved(&format!("{statements}\n{indent}launch('k', 1, 1, args=[c])"));
        assert_eq!(launches(&plan)[0].4, [int(value)], "{statements}");
    }
}

#[test]
fn a_plan_may_begin_on_the_line_of_its_comment() {
    let file = KernelFile::parse("int x;\n  /*@plan launch('k', 1, 1) @*/").unwrap();
    let plan = resolve(&file, &env(), &BTreeMap::new()).unwrap();
    assert!(matches!(plan.steps[..], [Step::Launch { line: 2, .. }]));
    let file = KernelFile::parse("/*@plan a = 1\n   launch('k', a, 1)\n   @*/").unwrap();
    assert_eq!(resolve(&file, &env(), &BTreeMap::new()).unwrap().steps.len(), 1);
    let file = KernelFile::parse("é /*@plan nope() @*/").unwrap();
    let Err(LaunchPlanError::Error(error)) = resolve(&file, &env(), &BTreeMap::new()) else {
        panic!()
    };
    assert_eq!((error.line, error.column), (1, 11));
}

#[test]
fn buffers_become_pointers_with_their_offsets() {
    let plan = resolved(
        "ws = scratch(64, zero=True)\nu = scratch(bytes=8, align=16)\nfill(u, 255)\nfill(out, 0)\n\
         launch('k', grid=(1, 2, 3), block=[32, 2], smem=16,\n       args=[self, other, out, ws, \
         ptr(ws, 8), ptr(other, 4), weight, ptr(weight), True])",
    );
    let scratch: Vec<_> =
        plan.scratch.iter().map(|s| (s.label.as_str(), s.bytes, s.zero)).collect();
    assert_eq!(scratch, [("ws", 64, true), ("u", 8, false)]);
    assert_eq!(plan.steps[0], Step::Fill { target: BufferRef::Scratch(1), byte: 255 });
    assert_eq!(plan.steps[1], Step::Fill { target: BufferRef::Output(0), byte: 0 });
    let (_, grid, block, smem, args) = launches(&plan)[0];
    assert_eq!((grid, block, smem), ([1, 2, 3], [32, 2, 1], 16));
    let pointer = |buffer, byte_offset, dtype, label: &str| PlanArg::Pointer {
        buffer,
        byte_offset,
        dtype,
        label: label.to_owned(),
    };
    let expected = [
        pointer(BufferRef::Input(0), 0, Some(DType::F32), "self"),
        pointer(BufferRef::Input(1), 6, Some(DType::F16), "other"),
        pointer(BufferRef::Output(0), 0, Some(DType::F32), "out"),
        pointer(BufferRef::Scratch(0), 0, None, ""),
        pointer(BufferRef::Scratch(0), 8, None, ""),
        pointer(BufferRef::Input(1), 10, None, ""),
        PlanArg::Null,
        PlanArg::Null,
        PlanArg::Bool { value: true },
    ];
    assert_eq!(args, expected);
}

#[test]
fn copies_are_made_only_where_the_layout_asks_for_them() {
    let plan = resolved(
        "a = contiguous(self)\nb = contiguous(t)\nc = expand(other, (2, 8))\n\
         d = expand(self, self.shape)\nw = contiguous(weight)\nlaunch('k', 1, 1, args=[a, b, c, d, w, \
         expand(self, (3, 6, 8))])",
    );
    let copies = plan.steps.iter().filter_map(|step| {
        let Step::Copy { source, target } = step else { return None };
        Some((source, *target))
    });
    let copies: Vec<_> = copies.collect();
    assert_eq!(copies.len(), 3);
    assert_eq!(copies[0].0.spec.stride, [1, 5]);
    assert_eq!((&copies[1].0.spec.stride[..], copies[1].0.spec.offset), (&[0, 1][..], 3));
    assert_eq!(copies[2].0.spec.stride, [0, 8, 1]);
    let labels: Vec<_> = plan.scratch.iter().map(|s| (s.label.as_str(), s.bytes)).collect();
    assert_eq!(labels, [("b", 80), ("c", 32), ("self", 576)]);
    assert_eq!(launches(&plan)[0].4[4], PlanArg::Null);
}

#[test]
fn defines_and_params_become_macros() {
    let plan = "define('V', 4); define('B', True); define('F', 0.5); define('T', 'float')\n\
                define('D', other.dtype); define('V', 4)\np = param('P', [8, 16])\n\
                q = param('P', [8, 16])\nlaunch('k', p + q, 1)";
    let plan = run(&env(), plan, &[("P", 16), ("UNUSED", 3)]).unwrap();
    let defines: Vec<_> = plan.defines.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let expected =
        [("B", "1"), ("D", "__half"), ("F", "0.5"), ("P", "16"), ("T", "float"), ("V", "4")];
    assert_eq!(defines, expected);
    assert_eq!((plan.params.len(), plan.params[0].chosen), (1, 16));
    assert_eq!(launches(&plan)[0].1, [32, 1, 1]);
    let error = run(&env(), "launch('k', param('P', [8]), 1)", &[("P", 9)]).unwrap_err();
    assert!(error.to_string().contains("9 is no value of `P`"), "{error}");
}

#[test]
fn a_declined_case_says_which_condition() {
    let cases = [
        ("require(k %  2 == 0)", "k % 2 == 0"),
        ("require(k > 9, 'needs a large k')", "needs a large k"),
        ("require(False)", "False"),
    ];
    for (plan, condition) in cases {
        let error = run(&env(), plan, &[]).unwrap_err();
        assert_eq!(error, LaunchPlanError::Declined { line: 2, condition: condition.to_owned() });
    }
    assert_eq!(resolved("require(k == 7)\nlaunch('k', 1, 1)").steps.len(), 1);
}

#[test]
fn a_plan_must_do_something_unless_there_is_nothing_to_write() {
    assert!(error("x = 1").message.contains("launches nothing"));
    assert_eq!(error("x = 1").line, 1);
    assert!(resolved("launch('k', 0, 1)").steps.is_empty());
    assert!(resolved("launch('k', (4, 0), 1)").steps.is_empty());
    assert_eq!(resolved("fill(out, 0)").steps.len(), 1);
    let empty = relu(TensorSpec::contiguous(DType::F32, &[0]));
    assert!(run(&empty, "pass", &[]).unwrap().steps.is_empty());
}

#[test]
fn several_outputs_have_numbers() {
    let outputs =
        [TensorSpec::contiguous(DType::F32, &[2]), TensorSpec::contiguous(DType::I64, &[2])];
    let env = Env::new(&case(&[]), &outputs, &Target::h100_class());
    let names: Vec<_> = env.names().collect();
    assert_eq!(names, ["cc", "l2_bytes", "out", "out0", "out1", "sm_count", "smem_max"]);
    let plan = run(&env, "launch('k', 1, 1, args=[out1])", &[]).unwrap();
    assert!(matches!(
        launches(&plan)[0].4[0],
        PlanArg::Pointer { buffer: BufferRef::Output(1), dtype: Some(DType::I64), .. }
    ));
}

#[test]
fn the_table_of_builtins_is_complete() {
    for builtin in Builtin::ALL {
        let spec = builtin.spec();
        assert_eq!(Builtin::find(spec.name), Some(builtin), "{builtin:?}");
        assert!(spec.usage.starts_with(spec.name) && !spec.doc.is_empty());
        assert!(spec.required <= spec.params.len());
    }
    assert_eq!(Builtin::find("nope"), None);
}

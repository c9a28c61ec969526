//! Lines that parse, lines that do not, and damage that must not panic.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{Call, Log, LogDType, LogGen, LogTensor, Value, parse, write::write_log};

/// Returns the one call of a log.
fn call(text: &str) -> Call {
    let Log { calls, errors } = parse(text);
    assert!(errors.is_empty(), "{text}: {errors:?}");
    assert_eq!(calls.len(), 1, "{text}");
    calls.into_iter().next().unwrap()
}

/// Returns the one error of a log, as it is printed.
fn error(text: &str) -> String {
    let Log { calls, errors } = parse(text);
    assert_eq!((calls.len(), errors.len()), (0, 1), "{text}: {calls:?} {errors:?}");
    errors[0].to_string()
}

/// Returns the error of a call with one argument, without its line.
fn value_error(value: &str) -> String {
    let error = error(&format!("a (({value},), {{}})"));
    error.strip_prefix("line 1, ").unwrap().to_owned()
}

fn value(value: &str) -> Value {
    call(&format!("a (({value},), {{}})")).args.remove(0)
}

fn tensor(shape: &[usize], dtype: LogDType) -> LogTensor {
    LogTensor { shape: shape.to_vec(), dtype, stride: None, offset: 0, generator: None }
}

#[test]
fn a_pytorch_log_is_read_call_by_call() {
    let log = parse(
        "# training\n\
         Operator: aten.addmm.default\n\
         cnt: 49, ((T([768], f16), T([8192, 768], f16), T([768, 2], f16, stride=(1, 768))), {})\n\
         cnt: 1, ((T([2], f32), T([0, 4], f32), T([4, 2], f32)), {'beta': 0.5})\n\
         \n\
         Operator: aten.relu_.default\n\
         cnt: 2, ((T([64, 128], bf16),), {})\n",
    );
    assert_eq!(log.errors, []);
    let names: Vec<_> = log.calls.iter().map(|call| (call.name(), call.count, call.line)).collect();
    let wanted = [("addmm.default", 49, 3), ("addmm.default", 1, 4), ("relu_.default", 2, 7)];
    assert_eq!(names, wanted.map(|(name, count, line)| (name.to_owned(), count, line)));
    let weight = LogTensor { stride: Some(vec![1, 768]), ..tensor(&[768, 2], LogDType::F16) };
    assert_eq!(log.calls[0].args[2], Value::Tensor(weight));
    assert_eq!(log.calls[1].kwargs, [("beta".to_owned(), Value::Float(0.5))]);
}

#[test]
fn a_name_may_stand_before_its_call() {
    let wanted = call("Operator: aten.add.Tensor\ncnt: 3, ((T([2], f32), 1), {'alpha': 2})");
    for line in [
        "aten.add.Tensor cnt: 3, ((T([2], f32), 1), {'alpha': 2})",
        "add.Tensor\t3\t((T([2], f32), 1), {'alpha': 2})\tsome/file.txt:29",
        "aten::add.Tensor  cnt:3, ((T([2,],f32,),1,),{'alpha':2,},) # remark",
        "add.Tensor 3, ((T([2], f32), 1), {'alpha': 2})\r",
    ] {
        assert_eq!(Call { line: 2, ..call(line) }, wanted, "{line}");
    }
    let bare = call("rope ((T([1, 2, 3, 4], f32),), {})");
    assert_eq!((bare.op.as_str(), bare.overload.as_str(), bare.count), ("rope", "default", 1));
    assert_eq!(call("torchvision.nms.default ((), {})").op, "torchvision.nms");
}

#[test]
fn strides_are_read_in_both_notations() {
    let wanted = LogTensor { stride: Some(vec![40, 2]), ..tensor(&[10, 20], LogDType::F16) };
    assert_eq!(value("T([10, 20], f16, [40, 2])"), Value::Tensor(wanted.clone()));
    assert_eq!(value("T([10, 20], f16, stride=(40, 2))"), Value::Tensor(wanted.clone()));
    assert_eq!(value("T([10, 20], f16, [40, 2], 'cuda')"), Value::Tensor(wanted));
    let scalar = LogTensor { stride: Some(vec![]), ..tensor(&[], LogDType::I64) };
    assert_eq!(value("T([], i64, stride=())"), Value::Tensor(scalar));
}

#[test]
fn offset_and_generator_are_read() {
    for (text, generator) in [
        ("normal", LogGen::Normal),
        ("ones", LogGen::Ones),
        ("perm", LogGen::Perm),
        ("int(-3, 9)", LogGen::Int { low: -3, high: 9 }),
        ("index(30522)", LogGen::Index { bound: 30522 }),
        ("mask(0.25)", LogGen::Mask { p: 0.25 }),
        ("mask(1)", LogGen::Mask { p: 1.0 }),
    ] {
        let wanted =
            LogTensor { offset: 4, generator: Some(generator), ..tensor(&[7], LogDType::F8E4M3) };
        let text = format!("T([7], f8e4m3, offset=4, gen={text})");
        assert_eq!(value(&text), Value::Tensor(wanted), "{text}");
    }
}

#[test]
fn every_kind_of_value_is_read() {
    let string = |text: &str| Value::Str(text.to_owned());
    for (text, wanted) in [
        ("-7", Value::Int(-7)),
        ("9223372036854775807", Value::Int(i64::MAX)),
        ("-9223372036854775808", Value::Int(i64::MIN)),
        ("1e-05", Value::Float(1e-5)),
        ("-2.5E+3", Value::Float(-2500.0)),
        ("1.", Value::Float(1.0)),
        ("inf", Value::Float(f64::INFINITY)),
        ("-inf", Value::Float(f64::NEG_INFINITY)),
        ("True", Value::Bool(true)),
        ("False", Value::Bool(false)),
        ("None", Value::None),
        ("f8e5m2", Value::DType(LogDType::F8E5M2)),
        ("torch.float16", Value::DType(LogDType::F16)),
        ("torch.float8_e4m3fn", Value::DType(LogDType::F8E4M3)),
        ("torch.bool", Value::DType(LogDType::Bool)),
        ("'cuda'", string("cuda")),
        ("\"torch.device('cpu')\"", string("torch.device('cpu')")),
        ("torch.device('cpu')", string("cpu")),
        ("device(type='cuda', index=0)", string("cuda:0")),
        ("torch.strided", string("torch.strided")),
        (r"'a\'\\\n'", string("a'\\\n")),
        ("[]", Value::List(vec![])),
        ("[None, [2, True]]", {
            let inner = vec![Value::Int(2), Value::Bool(true)];
            Value::List(vec![Value::None, Value::List(inner)])
        }),
        ("(1, 2)", Value::List(vec![Value::Int(1), Value::Int(2)])),
        ("[T([1], b8),]", Value::List(vec![Value::Tensor(tensor(&[1], LogDType::Bool))])),
    ] {
        assert_eq!(value(text), wanted, "{text}");
    }
    assert!(matches!(value("nan"), Value::Float(value) if value.is_nan()));
}

#[test]
fn a_wrong_line_is_named_by_line_column_and_op_and_costs_only_itself() {
    let log =
        parse("Operator: aten.mm.default\ncnt: 1, ((T([2 3], f16),), {})\ncnt: 1, ((1,), {})");
    assert_eq!(log.calls.len(), 1);
    assert_eq!(log.errors[0].to_string(), "line 2, column 16: expected `,` or `]`, found `3`");
    assert_eq!(log.errors[0].op.as_deref(), Some("mm.default"));
    // Calls below a broken name are not taken for calls of the op above it.
    let log = parse("Operator: aten.mm.default\nOperator: 7\ncnt: 1, ((1,), {})");
    assert_eq!((log.calls.len(), log.errors.len()), (0, 2));
    // Columns count characters.
    assert_eq!(error("a (('é', ?), {})"), "line 1, column 10: no value begins with '?'");
}

#[test]
fn errors_say_what_was_expected() {
    for (line, wanted) in [
        ("cnt: 1, ((1,), {})", "column 9: a call of no op"),
        ("cnt 1, ((1,), {})", "column 5: expected `:` behind `cnt`, found `1`"),
        ("a cnt: x, ((), {})", "column 8: expected a count, found `x`"),
        ("a cnt: -1, ((), {})", "column 8: a count of -1"),
        ("a (1, {})", "column 4: expected `(` before the arguments, found `1`"),
        ("a ((1), {}", "column 11: expected `)` at the end of the call, found the end of"),
        ("a ((1), {}) x", "column 13: expected the end of the line, found 'x'"),
        ("a ((1), {'b' 1})", "column 14: expected `:` behind the name"),
        ("a ((1), {'b': 1, 'b': 2})", "column 18: `b` is there twice"),
        ("a ((1), {b: 1})", "column 10: expected the quoted name of a keyword argument"),
        ("a ((1), {'__import__(\"os\")': 1})", "column 10: expected a name in quotes"),
        ("import os", "column 8: expected a call such as"),
        ("Operator aten.mm", "column 10: expected `:` behind `Operator`"),
        ("Operator: a..b", "column 11: expected the name of an op"),
        ("Operator: a.b.c.d", "column 11: expected at most a namespace"),
    ] {
        let error = error(line);
        assert!(error.starts_with(&format!("line 1, {wanted}")), "{line}: {error}");
    }
}

#[test]
fn errors_in_values_say_what_was_expected() {
    for (text, wanted) in [
        ("9223372036854775808", "column 5: an integer beyond 64 bits"),
        ("1e999", "column 5: a number beyond the range of f64"),
        ("1e", "column 7: expected the digits of an exponent"),
        ("1x", "column 6: expected the end of the number"),
        ("-x", "column 5: expected a number behind `-`"),
        ("-infinity", "column 5: expected a number behind `-`"),
        ("__import__('os')", "column 5: expected a value, found `__import__`"),
        ("torch.load('x')", "column 5: expected a value, found `torch.load`"),
        ("'abc", "column 5: the string has no closing '"),
        (r"'\x41'", "column 6: expected one of"),
        ("T(2, f16)", "column 7: expected `[` before the extents, found `2`"),
        ("T([2.5], f16)", "column 8: expected an extent, found `2.5`"),
        ("T([-2], f16)", "column 8: an extent of -2"),
        ("T([2], f17)", "column 12: expected a dtype such as `f16`, found `f17`"),
        ("T([2], f16, stride=(1, 2))", "column 17: expected 1 strides, one per dimension, found 2"),
        ("T([2], f16, [-1])", "column 18: a stride of -1"),
        ("T([2], f16, [1], stride=(1,))", "column 22: the tensor has its strides twice"),
        ("T([2], f16, layout=3)", "column 17: expected strides, `stride=`, `offset=`, `gen=`"),
        ("T([2], f16, gen=random)", "column 21: expected `normal`, `ones`, `perm`"),
        ("T([2], i64, gen=index(0))", "column 27: expected a bound of at least 1"),
        ("T([2], i64, gen=int(3,3))", "column 21: expected int(lo,hi) with lo below hi"),
        ("T([2], b8, gen=mask(1.5))", "column 25: expected a probability from 0 to 1"),
        ("T([9223372036854775807, 2], f16)", "column 5: a tensor of 2^63 elements or more"),
        ("T([4294967296, 2147483648], f16)", "column 5: a tensor of 2^63 elements or more"),
        ("T([0, 4294967296, 4294967296], f16)", "column 5: a tensor of 2^63 elements"),
        ("T([3], f16, [4611686018427387904])", "column 5: a tensor whose storage has 2^63"),
        ("T([1], f16, offset=9223372036854775807)", "column 5: a tensor whose storage has 2^63"),
    ] {
        let error = value_error(text);
        assert!(error.starts_with(wanted), "{text}: {error}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(value_error(&deep).contains("lists are nested more than 16 deep"));
    let dims = format!("T([{}], f16)", "1, ".repeat(65));
    assert!(value_error(&dims).contains("more than 64 dimensions"));
}

/// Calls drawn at random, with every kind of value.
struct Draw(ChaCha8Rng);

impl Draw {
    fn call(&mut self, line: usize) -> Call {
        let op = ["add", "relu_", "torchvision.nms"][self.0.random_range(0..3)].to_owned();
        let kwargs = ["alpha", "dim_"].iter().take(self.0.random_range(0..3));
        let kwargs = kwargs.map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Call {
            op,
            overload: "Tensor".to_owned(),
            count: self.0.random_range(0..100),
            args: (0..self.0.random_range(0..4)).map(|_| self.value(3)).collect(),
            kwargs: kwargs.into_iter().map(|name| (name, self.value(2))).collect(),
            line,
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.0.random_range(if depth == 0 { 1 } else { 0 }..8) {
            0 => {
                Value::List((0..self.0.random_range(0..3)).map(|_| self.value(depth - 1)).collect())
            }
            1 => Value::Int(self.0.random()),
            2 => Value::Float(match self.0.random_range(0..4) {
                0 => f64::INFINITY,
                1 => -0.0,
                2 => f64::from_bits(self.0.random_range(0..0x7ff0_0000_0000_0000)),
                _ => f64::from(self.0.random_range(-9..9)) / 4.0,
            }),
            3 => Value::Bool(self.0.random()),
            4 => Value::None,
            5 => Value::DType(self.dtype()),
            6 => {
                let letters = ['a', '\'', '"', '\\', '\n', '\t', '\r', 'é', ' ', '('];
                let length = self.0.random_range(0..6);
                Value::Str((0..length).map(|_| letters[self.0.random_range(0..10)]).collect())
            }
            _ => Value::Tensor(self.tensor()),
        }
    }

    fn dtype(&mut self) -> LogDType {
        use LogDType::{BF16, Bool, C128, F8E4M3, F16, I64};
        [BF16, Bool, C128, F8E4M3, F16, I64][self.0.random_range(0..6)]
    }

    fn tensor(&mut self) -> LogTensor {
        let ndim = self.0.random_range(0..4);
        let mut extents = || (0..ndim).map(|_| self.0.random_range(0..5000)).collect();
        let (shape, stride) = (extents(), extents());
        LogTensor {
            shape,
            dtype: self.dtype(),
            stride: self.0.random::<bool>().then_some(stride),
            offset: self.0.random_range(0..2),
            generator: match self.0.random_range(0..8) {
                0 => Some(LogGen::Normal),
                1 => Some(LogGen::Int { low: -5, high: self.0.random_range(0..9) }),
                2 => Some(LogGen::Index { bound: self.0.random_range(1..9) }),
                3 => Some(LogGen::Perm),
                4 => Some(LogGen::Mask { p: self.0.random_range(0.0..1.0) }),
                5 => Some(LogGen::Ones),
                _ => None,
            },
        }
    }
}

#[test]
fn what_is_printed_parses_back() {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(1));
    let calls: Vec<Call> = (0..500).map(|index| draw.call(index + 1)).collect();
    let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
    assert_eq!(parse(&lines), Log { calls: calls.clone(), errors: vec![] });
    let log = parse(&write_log(&calls));
    assert_eq!(log.errors, []);
    let same = log.calls.iter().zip(&calls).all(|(a, b)| Call { line: b.line, ..a.clone() } == *b);
    assert!(same && log.calls.len() == calls.len());
}

/// Any text is read in bounded time without a panic, and every call found prints so that it parses
/// back; the texts are damaged logs, which reach further into the parser than noise does.
#[test]
fn damaged_logs_never_panic() {
    const PIECES: [&str; 24] = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "=",
        "'",
        "\"",
        "\\",
        "T(",
        "-",
        "inf",
        "1e",
        "é",
        "9223372036854775807",
        "gen=",
        "stride=",
        "\n",
        "\t",
        "torch.device(",
        "::",
    ];
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(2));
    for _ in 0..4000 {
        let mut text = write_log(&[draw.call(1), draw.call(2)]);
        for _ in 0..draw.0.random_range(1..4) {
            let mut at = draw.0.random_range(0..=text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match draw.0.random_range(0..3) {
                0 => text.truncate(at),
                1 => text.insert_str(at, PIECES[draw.0.random_range(0..PIECES.len())]),
                _ => drop(text[at..].chars().next().map(|_| text.remove(at))),
            }
        }
        let log = parse(&text);
        let again = parse(&write_log(&log.calls));
        assert_eq!((again.errors.len(), again.calls.len()), (0, log.calls.len()), "{text}");
        for error in &log.errors {
            let line =
                text.lines().nth(error.line - 1).expect("the error names a line of the text");
            assert!(error.column <= line.chars().count() + 1, "{text}: {error}");
        }
    }
}

//! Reads tensors: `T([2, 3], f16, stride=(1, 2), offset=4, gen=index(9))`.

use super::{
    LogDType, LogGen, LogTensor,
    error::Problem,
    parser::{Parser, expected},
    token::{Kind, Token},
};

/// Most dimensions of a tensor; `PyTorch` has no more either.
const MAX_DIMS: usize = 64;

/// The keys that may follow a tensor's dtype.
const OPTIONS: &str = "strides, `stride=`, `offset=`, `gen=`, `device=` or `)`";

/// Reads the tensor behind a `T`, which is at byte `at` of the line.
pub(super) fn tensor(parser: &mut Parser<'_>, at: usize) -> Result<LogTensor, Problem> {
    parser.expect('(', "`(` behind `T`")?;
    let shape = list(parser, "`[` before the extents", "an extent")?;
    parser.expect(',', "`,` before the dtype")?;
    let mut token = parser.next()?;
    if token.kind == Kind::Name("dtype".to_owned()) {
        parser.expect('=', "`=`")?;
        token = parser.next()?;
    }
    let dtype = match &token.kind {
        Kind::Name(name) | Kind::Str(name) => LogDType::from_name(name),
        _ => None,
    };
    let dtype = dtype.ok_or_else(|| expected("a dtype such as `f16`", &token))?;
    let mut tensor = LogTensor { shape, dtype, stride: None, offset: 0, generator: None };
    let mut seen: Vec<&'static str> = Vec::new();
    while parser.accept(',')? {
        if parser.accept(')')? {
            check(&tensor, at)?;
            return Ok(tensor);
        }
        let token = parser.next()?;
        let key = option(parser, &mut tensor, &token)?;
        if seen.contains(&key) {
            return Err(Problem::new(token.at, format!("the tensor has its {key} twice")));
        }
        seen.push(key);
    }
    parser.expect(')', "`,` or `)`")?;
    check(&tensor, at)?;
    Ok(tensor)
}

/// Reads one of the keys behind the dtype and returns its name.
fn option(
    parser: &mut Parser<'_>,
    tensor: &mut LogTensor,
    token: &Token,
) -> Result<&'static str, Problem> {
    let name = match &token.kind {
        Kind::Mark(open @ ('[' | '(')) => {
            let stride = sizes(parser, closing(*open), "a stride")?;
            set_stride(tensor, stride, token)?;
            return Ok("strides");
        }
        // Newer logs name the device; kgen has one.
        Kind::Str(_) => return Ok("device"),
        Kind::Name(name) => name.as_str(),
        _ => return Err(expected(OPTIONS, token)),
    };
    let key = match name {
        // Contiguous.
        "None" => return Ok("strides"),
        "stride" | "strides" => "strides",
        "device" => "device",
        "offset" => "offset",
        "gen" => "gen",
        _ => return Err(expected(OPTIONS, token)),
    };
    parser.expect('=', "`=`")?;
    match key {
        "strides" if parser.accept_name("None")? => {}
        "strides" => {
            let stride = list(parser, "`(` before the strides", "a stride")?;
            set_stride(tensor, stride, token)?;
        }
        "device" => {
            let token = parser.next()?;
            if !matches!(token.kind, Kind::Str(_)) {
                return Err(expected("a device in quotes", &token));
            }
        }
        "offset" => {
            let token = parser.next()?;
            tensor.offset = size(&token, "an offset")?;
        }
        _ => tensor.generator = Some(generator(parser)?),
    }
    Ok(key)
}

fn set_stride(tensor: &mut LogTensor, stride: Vec<usize>, token: &Token) -> Result<(), Problem> {
    if stride.len() != tensor.shape.len() {
        let reason = format!(
            "expected {} strides, one per dimension, found {}",
            tensor.shape.len(),
            stride.len()
        );
        return Err(Problem::new(token.at, reason));
    }
    tensor.stride = Some(stride);
    Ok(())
}

const fn closing(open: char) -> char {
    if open == '(' { ')' } else { ']' }
}

/// Reads integers from 0 in brackets of either kind.
fn list(parser: &mut Parser<'_>, wanted: &str, what: &str) -> Result<Vec<usize>, Problem> {
    let token = parser.next()?;
    match token.kind {
        Kind::Mark(open @ ('[' | '(')) => sizes(parser, closing(open), what),
        _ => Err(expected(wanted, &token)),
    }
}

/// Reads integers from 0 up to a closing bracket, the opening one being taken.
fn sizes(parser: &mut Parser<'_>, close: char, what: &str) -> Result<Vec<usize>, Problem> {
    let mut sizes = Vec::new();
    while !parser.accept(close)? {
        let token = parser.next()?;
        if sizes.len() == MAX_DIMS {
            return Err(Problem::new(token.at, format!("more than {MAX_DIMS} dimensions")));
        }
        sizes.push(size(&token, what)?);
        if !parser.accept(',')? {
            parser.expect(close, &format!("`,` or `{close}`"))?;
            break;
        }
    }
    Ok(sizes)
}

fn size(token: &Token, what: &str) -> Result<usize, Problem> {
    match token.kind {
        Kind::Int(value) => {
            usize::try_from(value).map_err(|_| Problem::new(token.at, format!("{what} of {value}")))
        }
        _ => Err(expected(what, token)),
    }
}

/// Checks that elements and storage can be counted; `at` is where the tensor begins.
fn check(tensor: &LogTensor, at: usize) -> Result<(), Problem> {
    let counted = |count: Option<usize>| count.filter(|&count| i64::try_from(count).is_ok());
    // An extent of 0 hides no overflow of the others: strides are products of them.
    let elements = tensor.shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent.max(1)));
    let Some(elements) = counted(elements) else {
        return Err(Problem::new(at, "a tensor of 2^63 elements or more"));
    };
    let last = match &tensor.stride {
        None => Some(elements - 1),
        Some(stride) => {
            tensor.shape.iter().zip(stride).try_fold(0usize, |last, (extent, stride)| {
                last.checked_add(extent.saturating_sub(1).checked_mul(*stride)?)
            })
        }
    };
    let storage = last.and_then(|last| last.checked_add(tensor.offset)?.checked_add(1));
    if counted(storage).is_none() {
        return Err(Problem::new(at, "a tensor whose storage has 2^63 elements or more"));
    }
    Ok(())
}

fn generator(parser: &mut Parser<'_>) -> Result<LogGen, Problem> {
    const KNOWN: &str = "`normal`, `ones`, `perm`, `int(lo,hi)`, `index(n)` or `mask(p)`";
    let token = parser.next()?;
    let Kind::Name(name) = &token.kind else { return Err(expected(KNOWN, &token)) };
    Ok(match name.as_str() {
        "normal" => LogGen::Normal,
        "ones" => LogGen::Ones,
        "perm" => LogGen::Perm,
        "int" => {
            let [low, high] = numbers(parser)?;
            let (low, high) = (integer(&low)?, integer(&high)?);
            if low >= high {
                return Err(Problem::new(token.at, "expected int(lo,hi) with lo below hi"));
            }
            LogGen::Int { low, high }
        }
        "index" => {
            let [bound] = numbers(parser)?;
            match u64::try_from(integer(&bound)?) {
                Ok(bound @ 1..) => LogGen::Index { bound },
                _ => return Err(expected("a bound of at least 1", &bound)),
            }
        }
        "mask" => {
            let [p] = numbers(parser)?;
            let value = match p.kind {
                Kind::Float(value) => value,
                Kind::Int(0) => 0.0,
                Kind::Int(1) => 1.0,
                _ => -1.0,
            };
            if !(0.0..=1.0).contains(&value) {
                return Err(expected("a probability from 0 to 1", &p));
            }
            LogGen::Mask { p: value }
        }
        _ => return Err(expected(KNOWN, &token)),
    })
}

/// Reads `N` tokens in brackets.
fn numbers<const N: usize>(parser: &mut Parser<'_>) -> Result<[Token; N], Problem> {
    parser.expect('(', "`(`")?;
    let mut tokens = Vec::with_capacity(N);
    for index in 0..N {
        if index > 0 {
            parser.expect(',', "`,`")?;
        }
        tokens.push(parser.next()?);
    }
    parser.expect(')', "`)`")?;
    Ok(tokens.try_into().expect("N tokens were read"))
}

fn integer(token: &Token) -> Result<i64, Problem> {
    match token.kind {
        Kind::Int(value) => Ok(value),
        _ => Err(expected("an integer", token)),
    }
}

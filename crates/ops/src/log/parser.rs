//! Reads calls out of the lines of a log.

use super::{
    Call, Log, LogDType, LogError, Value,
    error::Problem,
    tensor,
    token::{Kind, Lexer, Token},
};

/// Deepest nesting of lists in a call.
const MAX_DEPTH: usize = 16;

/// Reads a log; every line is read on its own, so that a wrong one costs only itself.
#[must_use]
pub fn parse(text: &str) -> Log {
    let mut log = Log { calls: Vec::new(), errors: Vec::new() };
    let mut operator = None;
    for (index, line) in text.lines().enumerate() {
        // A byte order mark is no part of the first line.
        let line = if index == 0 { line.trim_start_matches('\u{feff}') } else { line };
        if line.trim_start().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let mut parser = Parser { lexer: Lexer::new(line), peeked: None, name: None };
        match parser.line(operator.as_ref()) {
            Ok(Line::Operator(name)) => operator = Some(name),
            Ok(Line::Call(call)) => log.calls.push(Call { line: index + 1, ..call }),
            Err(Problem { at, reason }) => {
                let is_operator = line.trim_start().starts_with("Operator");
                let op = parser.name.or_else(|| operator.clone().filter(|_| !is_operator));
                log.errors.push(LogError {
                    line: index + 1,
                    column: line[..at].chars().count() + 1,
                    op: op.map(|(op, overload)| format!("{op}.{overload}")),
                    reason,
                });
                // The calls below a line that names no op are not those of the op above it.
                if is_operator {
                    operator = None;
                }
            }
        }
    }
    log
}

/// Op and overload.
type Name = (String, String);

type Kwargs = Vec<(String, Value)>;

enum Line {
    Operator(Name),
    Call(Call),
}

/// A parser of one line, one token ahead at most.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    peeked: Option<Token>,
    /// The op that the line names itself.
    name: Option<Name>,
}

/// An error that names the expected token.
pub(super) fn expected(wanted: &str, found: &Token) -> Problem {
    Problem::new(found.at, format!("expected {wanted}, found {}", found.kind))
}

impl Parser<'_> {
    pub(super) fn peek(&mut self) -> Result<&Token, Problem> {
        let token = match self.peeked.take() {
            Some(token) => token,
            None => self.lexer.token()?,
        };
        Ok(self.peeked.insert(token))
    }

    pub(super) fn next(&mut self) -> Result<Token, Problem> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.lexer.token(),
        }
    }

    /// Takes a mark if it comes next.
    pub(super) fn accept(&mut self, mark: char) -> Result<bool, Problem> {
        let found = self.peek()?.kind == Kind::Mark(mark);
        if found {
            self.peeked = None;
        }
        Ok(found)
    }

    /// Takes a name if it comes next.
    pub(super) fn accept_name(&mut self, name: &str) -> Result<bool, Problem> {
        let found = matches!(&self.peek()?.kind, Kind::Name(found) if found == name);
        if found {
            self.peeked = None;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, mark: char, wanted: &str) -> Result<(), Problem> {
        let token = self.next()?;
        if token.kind == Kind::Mark(mark) { Ok(()) } else { Err(expected(wanted, &token)) }
    }

    fn line(&mut self, operator: Option<&Name>) -> Result<Line, Problem> {
        let mut token = self.next()?;
        let mut word = match &token.kind {
            Kind::Name(word) => Some(word.clone()),
            _ => None,
        };
        if word.as_deref() == Some("Operator") {
            self.expect(':', "`:` behind `Operator`")?;
            let token = self.next()?;
            let (Kind::Name(name) | Kind::Str(name)) = &token.kind else {
                return Err(expected("the name of an op such as `aten.add.Tensor`", &token));
            };
            let name = op_name(name, token.at)?;
            self.end()?;
            return Ok(Line::Operator(name));
        }
        if let Some(name) = word.take_if(|word| word != "cnt") {
            self.name = Some(op_name(&name, token.at)?);
            token = self.next()?;
        }
        let count = self.count(&mut token)?;
        if token.kind != Kind::Mark('(') {
            return Err(expected(
                "a call such as `cnt: 1, ((T([2, 3], f32),), {})`, or `Operator:`",
                &token,
            ));
        }
        let Some((op, overload)) = self.name.clone().or_else(|| operator.cloned()) else {
            return Err(Problem::new(
                token.at,
                "a call of no op: expected a line `Operator: aten.add.Tensor` above it, or the \
                 op's name before it",
            ));
        };
        let (args, kwargs) = self.call()?;
        self.end()?;
        Ok(Line::Call(Call { op, overload, count, args, kwargs, line: 0 }))
    }

    /// Reads `cnt: 3,` or `3`, or nothing; `token` is the first one behind it afterwards.
    fn count(&mut self, token: &mut Token) -> Result<u64, Problem> {
        let labelled = token.kind == Kind::Name("cnt".to_owned());
        if labelled {
            self.expect(':', "`:` behind `cnt`")?;
            *token = self.next()?;
        }
        let count = match token.kind {
            Kind::Int(count) => u64::try_from(count)
                .map_err(|_| Problem::new(token.at, format!("a count of {count}")))?,
            _ if labelled => return Err(expected("a count", token)),
            _ => return Ok(1),
        };
        if labelled {
            self.expect(',', "`,` behind the count")?;
        } else {
            self.accept(',')?;
        }
        *token = self.next()?;
        Ok(count)
    }

    /// Reads a call, whose opening bracket is taken.
    fn call(&mut self) -> Result<(Vec<Value>, Kwargs), Problem> {
        let close = if self.accept('[')? { ']' } else { ')' };
        if close == ')' {
            self.expect('(', "`(` before the arguments")?;
        }
        let args = self.values(close, 0)?;
        let mut kwargs = Kwargs::new();
        if self.accept(',')? && self.peek()?.kind != Kind::Mark(')') {
            self.expect('{', "`{` before the keyword arguments")?;
            kwargs = self.kwargs()?;
            self.accept(',')?;
        }
        self.expect(')', "`)` at the end of the call")?;
        Ok((args, kwargs))
    }

    fn kwargs(&mut self) -> Result<Kwargs, Problem> {
        let mut kwargs = Kwargs::new();
        while !self.accept('}')? {
            let token = self.next()?;
            let Kind::Str(name) = token.kind else {
                return Err(expected("the quoted name of a keyword argument, or `}`", &token));
            };
            if !is_identifier(&name) {
                return Err(Problem::new(token.at, "expected a name in quotes"));
            }
            if kwargs.iter().any(|(other, _)| *other == name) {
                return Err(Problem::new(token.at, format!("`{name}` is there twice")));
            }
            self.expect(':', "`:` behind the name of a keyword argument")?;
            let value = self.value(0)?;
            kwargs.push((name, value));
            if !self.accept(',')? {
                self.expect('}', "`,` or `}`")?;
                break;
            }
        }
        Ok(kwargs)
    }

    /// Reads values up to a closing bracket, the opening one being taken.
    fn values(&mut self, close: char, depth: usize) -> Result<Vec<Value>, Problem> {
        let mut values = Vec::new();
        while !self.accept(close)? {
            values.push(self.value(depth)?);
            if !self.accept(',')? {
                self.expect(close, &format!("`,` or `{close}`"))?;
                break;
            }
        }
        Ok(values)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Problem> {
        let token = self.next()?;
        if depth > MAX_DEPTH {
            let reason = format!("lists are nested more than {MAX_DEPTH} deep");
            return Err(Problem::new(token.at, reason));
        }
        Ok(match token.kind {
            Kind::Int(value) => Value::Int(value),
            Kind::Float(value) => Value::Float(value),
            Kind::Str(text) => Value::Str(text),
            Kind::Mark('[') => Value::List(self.values(']', depth + 1)?),
            Kind::Mark('(') => Value::List(self.values(')', depth + 1)?),
            Kind::Name(name) => self.named(token.at, &name)?,
            Kind::Mark(_) | Kind::End => return Err(expected("a value", &token)),
        })
    }

    /// Reads a value that begins with a name.
    fn named(&mut self, at: usize, name: &str) -> Result<Value, Problem> {
        Ok(match name {
            "T" => Value::Tensor(tensor::tensor(self, at)?),
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::None,
            "inf" => Value::Float(f64::INFINITY),
            "nan" => Value::Float(f64::NAN),
            "torch.device" | "device" => self.device()?,
            "float" => self.float()?,
            // Layouts and memory formats.
            "torch.strided"
            | "torch.sparse_coo"
            | "torch.sparse_csr"
            | "torch.sparse_csc"
            | "torch.sparse_bsr"
            | "torch.sparse_bsc"
            | "torch.jagged"
            | "torch.contiguous_format"
            | "torch.preserve_format"
            | "torch.channels_last"
            | "torch.channels_last_3d" => Value::Str(name.to_owned()),
            _ => match LogDType::from_name(name) {
                Some(dtype) => Value::DType(dtype),
                None => {
                    let found = Token { at, kind: Kind::Name(name.to_owned()) };
                    return Err(expected("a value", &found));
                }
            },
        })
    }

    /// Reads the parentheses in `float('inf')`.
    fn float(&mut self) -> Result<Value, Problem> {
        self.expect('(', "`(`")?;
        let token = self.next()?;
        let value = match &token.kind {
            Kind::Str(text) => match text.as_str() {
                "inf" => f64::INFINITY,
                "-inf" => f64::NEG_INFINITY,
                "nan" => f64::NAN,
                _ => return Err(expected("'inf', '-inf' or 'nan'", &token)),
            },
            _ => return Err(expected("'inf', '-inf' or 'nan'", &token)),
        };
        self.expect(')', "`)`")?;
        Ok(Value::Float(value))
    }

    /// Reads the parentheses in `torch.device('cpu')` or `device(type='cuda', index=0)`.
    fn device(&mut self) -> Result<Value, Problem> {
        self.expect('(', "`(`")?;
        let mut token = self.next()?;
        let labelled = token.kind == Kind::Name("type".to_owned());
        if labelled {
            self.expect('=', "`=` behind `type`")?;
            token = self.next()?;
        }
        let Kind::Str(mut device) = token.kind else {
            return Err(expected("a device in quotes", &token));
        };
        if labelled && self.accept(',')? {
            let token = self.next()?;
            if token.kind != Kind::Name("index".to_owned()) {
                return Err(expected("`index`", &token));
            }
            self.expect('=', "`=` behind `index`")?;
            let token = self.next()?;
            let Kind::Int(index @ 0..) = token.kind else {
                return Err(expected("the number of a device", &token));
            };
            device = format!("{device}:{index}");
        }
        self.expect(')', "`)`")?;
        Ok(Value::Str(device))
    }

    /// Checks that only a remark follows.
    fn end(&mut self) -> Result<(), Problem> {
        let (at, rest) = match &self.peeked {
            None => self.lexer.rest(),
            Some(token) => return Err(expected("the end of the line", token)),
        };
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        if rest.trim().is_empty() || rest[spaces..].starts_with(['\t', '#']) {
            return Ok(());
        }
        let found = rest[spaces..].chars().next().unwrap_or(' ');
        let reason = format!("expected the end of the line, found {found:?}");
        Err(Problem::new(at + spaces, reason))
    }
}

/// Splits the name of an op into the op and its overload.
fn op_name(name: &str, at: usize) -> Result<Name, Problem> {
    let name = name.replace("::", ".");
    let mut parts: Vec<&str> =
        name.strip_prefix("torch.ops.").unwrap_or(&name).split('.').collect();
    if !parts.iter().all(|part| is_identifier(part)) {
        return Err(Problem::new(at, "expected the name of an op such as `aten.add.Tensor`"));
    }
    if parts.len() > 1 && parts[0] == "aten" {
        parts.remove(0);
    }
    let (op, overload) = match parts.as_slice() {
        [op] => ((*op).to_owned(), "default"),
        [op, overload] => ((*op).to_owned(), *overload),
        [namespace, op, overload] => (format!("{namespace}.{op}"), *overload),
        _ => {
            let reason = "expected at most a namespace, an op and an overload";
            return Err(Problem::new(at, reason));
        }
    };
    Ok((op, overload.to_owned()))
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|part| part.is_ascii_alphanumeric() || part == '_')
}

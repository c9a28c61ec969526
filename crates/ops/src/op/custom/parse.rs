//! Reads a graph: `h = add(x, bias)`, one assignment per line.

use crate::{
    expr::Expr,
    op::{DraftValue, Kind, OpDef, Param, find},
    record::ArgValue,
};

use super::{
    CustomError,
    definition::Definition,
    graph::{Graph, Node, NodeArg, Value},
};

/// Most calls of one graph.
const MAX_NODES: usize = 4096;

/// Deepest nesting of calls and lists.
const MAX_DEPTH: usize = 16;

/// Reads the graph of a definition whose inputs and outputs are known.
pub(super) fn graph(text: &str, definition: &Definition) -> Result<Graph, CustomError> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        definition,
        names: Vec::new(),
        nodes: Vec::new(),
        used: Vec::new(),
    };
    loop {
        parser.skip(true);
        if parser.rest().is_empty() {
            break;
        }
        parser.assignment()?;
    }
    parser.finish()
}

/// The value of an argument before its parameter is known.
enum Operand {
    Tensor(Value),
    Scalar(String),
    Number(DraftValue),
    Integer(Expr),
    Text(String),
    None,
    List(Vec<Self>),
}

/// An argument before its parameter is known.
struct Argument {
    at: usize,
    keyword: Option<String>,
    operand: Operand,
}

/// Returns the overload that takes a number where arguments have one in the place of a tensor.
fn with_number(op: &'static OpDef, given: &[Argument]) -> &'static OpDef {
    let is_number = |place: usize, param: &Param| {
        given.iter().enumerate().any(|(position, argument)| {
            let named = match &argument.keyword {
                Some(name) => *name == param.name,
                None => position == place,
            };
            let number = matches!(
                argument.operand,
                Operand::Number(_) | Operand::Integer(_) | Operand::Scalar(_)
            );
            named && number
        })
    };
    let mut tensors = op.params.iter().enumerate().filter(|(_, param)| param.kind == Kind::Tensor);
    if !tensors.any(|(place, param)| is_number(place, param)) {
        return op;
    }
    let overloads = ["Scalar", "Tensor_Scalar"].map(|overload| format!("{}.{overload}", op.name));
    overloads.iter().find_map(|name| find(name).ok()).map_or(op, |op| op)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    definition: &'a Definition,
    names: Vec<(String, Value)>,
    nodes: Vec<Node>,
    used: Vec<String>,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn wrong<T>(&self, at: usize, reason: impl Into<String>) -> Result<T, CustomError> {
        Err(CustomError::at(self.text, at, reason))
    }

    /// Skips blanks and comments, newlines too where a statement may begin or a bracket is open.
    fn skip(&mut self, newlines: bool) {
        loop {
            let rest = self.rest();
            let blank = |c: char| c == ' ' || c == '\t' || c == '\r' || (newlines && c == '\n');
            let n_blank = rest.len() - rest.trim_start_matches(blank).len();
            self.at += n_blank;
            if self.rest().starts_with('#') {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if n_blank == 0 {
                return;
            }
        }
    }

    fn accept(&mut self, symbol: char) -> bool {
        self.skip(self.depth > 0);
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    fn expect(&mut self, symbol: char) -> Result<(), CustomError> {
        if self.accept(symbol) {
            return Ok(());
        }
        let found = self.rest().chars().next().filter(|c| *c != '\n');
        let found = found.map_or("the end of the line".to_owned(), |c| format!("`{c}`"));
        self.wrong(self.at, format!("expected `{symbol}`, found {found}"))
    }

    /// Reads a name; dots belong to names of overloads.
    fn word(&mut self, dots: bool) -> Option<(usize, String)> {
        self.skip(self.depth > 0);
        let rest = self.rest();
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || (dots && c == '.');
        let end = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        let (at, word) = (self.at, rest[..end].to_owned());
        self.at += end;
        Some((at, word))
    }

    /// Reads `a = op(..)` or `a, b = op(..)`.
    fn assignment(&mut self) -> Result<(), CustomError> {
        let mut targets = Vec::new();
        loop {
            let Some((at, name)) = self.word(false) else {
                return self.wrong(self.at, "expected an assignment such as `h = add(x, bias)`");
            };
            if name != "_" && (self.find(&name).is_some() || self.is_argument(&name)) {
                return self.wrong(at, format!("`{name}` has a value already"));
            }
            targets.push(name);
            if !self.accept(',') {
                break;
            }
        }
        self.expect('=')?;
        let at = {
            self.skip(false);
            self.at
        };
        let Operand::Tensor(value) = self.operand()? else {
            return self.wrong(at, "expected a call of an op such as `add(x, bias)`");
        };
        match (value, targets.len()) {
            (value, 1) => self.names.push((targets.swap_remove(0), value)),
            (Value::Node { node, .. }, n_targets) => {
                let op = self.nodes[node].op;
                let n_outputs = op.outputs.len();
                if n_targets != n_outputs && !op.returns_list {
                    let op = &op.name;
                    let reason = format!("`{op}` has {n_outputs} outputs, not {n_targets}");
                    return self.wrong(at, reason);
                }
                let values = (0..n_targets).map(|output| Value::Node { node, output });
                self.names.extend(targets.into_iter().zip(values));
            }
            (Value::Input(_), _) => return self.wrong(at, "one tensor for several names"),
        }
        self.skip(false);
        if self.rest().is_empty() || self.rest().starts_with(['\n', ';']) {
            self.at += usize::from(!self.rest().is_empty());
            return Ok(());
        }
        self.wrong(self.at, "expected the end of the line")
    }

    fn find(&self, name: &str) -> Option<Value> {
        let tensors = &self.definition.tensors;
        if tensors.iter().any(|tensor| tensor.name == name) {
            return Some(Value::Input(name.to_owned()));
        }
        self.names.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn is_argument(&self, name: &str) -> bool {
        self.definition.scalars.iter().any(|(known, _)| known == name)
    }

    fn operand(&mut self) -> Result<Operand, CustomError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.wrong(self.at, "nested too deeply: name the inner calls");
        }
        let operand = self.operand_within();
        self.depth -= 1;
        operand
    }

    fn operand_within(&mut self) -> Result<Operand, CustomError> {
        if let Some(expr) = self.integer() {
            return Ok(Operand::Integer(expr));
        }
        if let Some((at, word)) = self.word(true) {
            return match word.as_str() {
                "True" | "true" => Ok(Operand::Number(DraftValue::Bool(true))),
                "False" | "false" => Ok(Operand::Number(DraftValue::Bool(false))),
                "None" => Ok(Operand::None),
                _ if self.rest().starts_with('(') => self.call(at, &word),
                _ => self.named(at, word),
            };
        }
        if self.accept('[') {
            return self.list();
        }
        let at = self.at;
        if let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let inner = &self.text[at + 1..];
            let Some(end) =
                inner.find([quote, '\n']).filter(|&end| inner[end..].starts_with(quote))
            else {
                return self.wrong(at, "the string has no end");
            };
            self.at += end + 2;
            return Ok(Operand::Text(inner[..end].to_owned()));
        }
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
        let end = self.rest().find(|c: char| !part(c)).unwrap_or(self.rest().len());
        let number = self.rest()[..end].replace('_', "");
        self.at += end;
        if let Ok(value) = number.parse() {
            return Ok(Operand::Number(DraftValue::Int(value)));
        }
        match number.parse() {
            Ok(value) => Ok(Operand::Number(DraftValue::Float(value))),
            Err(_) => self.wrong(at, "expected a tensor, a number, a string or a list"),
        }
    }

    /// Reads an integer that is made of extents and scalars.
    fn integer(&mut self) -> Option<Expr> {
        self.skip(self.depth > 0);
        let (expr, len) = Expr::parse_prefix(self.rest())?;
        let names = expr.names();
        if names.is_empty() || !names.iter().all(|name| self.is_integer(name)) {
            return None;
        }
        self.used.extend(names.into_iter().map(str::to_owned));
        self.at += len;
        Some(expr)
    }

    fn is_integer(&self, name: &str) -> bool {
        let Definition { scalars, .. } = self.definition;
        let is_scalar = |(known, value): &(String, ArgValue)| {
            known == name && matches!(value, ArgValue::Int(_))
        };
        self.find(name).is_none()
            && (scalars.iter().any(is_scalar) || self.definition.symbols().contains(&name))
    }

    fn named(&mut self, at: usize, word: String) -> Result<Operand, CustomError> {
        if let Some(value) = self.find(&word) {
            self.used.push(word);
            return Ok(Operand::Tensor(value));
        }
        if self.is_argument(&word) {
            self.used.push(word.clone());
            return Ok(Operand::Scalar(word));
        }
        let tensors = self.definition.tensors.iter().map(|tensor| tensor.name.as_str());
        let scalars = self.definition.scalars.iter().map(|(name, _)| name.as_str());
        let made = self.names.iter().map(|(name, _)| name.as_str());
        let known: Vec<&str> = tensors.chain(scalars).chain(made).collect();
        self.wrong(at, format!("unknown name `{word}` (known here: {})", known.join(", ")))
    }

    fn list(&mut self) -> Result<Operand, CustomError> {
        let mut items = Vec::new();
        while !self.accept(']') {
            items.push(self.operand()?);
            if !self.accept(',') {
                self.expect(']')?;
                break;
            }
        }
        Ok(Operand::List(items))
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Operand, CustomError> {
        let op = match find(name) {
            Ok(op) => op,
            Err(error) => return self.wrong(at, error.to_string()),
        };
        self.expect('(')?;
        let mut given = Vec::new();
        while !self.accept(')') {
            given.push(self.argument()?);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        let op = with_number(op, &given);
        let args = self.bind(op, given)?;
        let given = |param: &&Param| args.iter().any(|(name, _)| *name == param.name);
        let missing = op.params.iter().find(|param| param.default.is_none() && !given(param));
        if let Some(param) = missing {
            return self.wrong(at, format!("`{name}` misses its argument `{}`", param.name));
        }
        if self.nodes.len() >= MAX_NODES {
            return self.wrong(at, format!("a graph has at most {MAX_NODES} calls"));
        }
        let text = self.text[at..self.at].split_whitespace().collect::<Vec<_>>().join(" ");
        self.nodes.push(Node { op, text, args });
        Ok(Operand::Tensor(Value::Node { node: self.nodes.len() - 1, output: 0 }))
    }

    fn argument(&mut self) -> Result<Argument, CustomError> {
        self.skip(true);
        let at = self.at;
        let keyword =
            self.word(false).filter(|_| self.accept('=') && !self.rest().starts_with('='));
        if keyword.is_none() {
            self.at = at;
        }
        let keyword = keyword.map(|(_, name)| name);
        Ok(Argument { at, keyword, operand: self.operand()? })
    }

    /// Finds the parameters of arguments.
    fn bind(
        &self,
        op: &'static OpDef,
        given: Vec<Argument>,
    ) -> Result<Vec<(String, NodeArg)>, CustomError> {
        let mut args: Vec<(String, NodeArg)> = Vec::with_capacity(given.len());
        for Argument { at, keyword, operand } in given {
            let param = match &keyword {
                Some(name) => op.param(name),
                None => op.params.get(args.len()),
            };
            let Some(param) = param else {
                let known: Vec<&str> = op.params.iter().map(|param| param.name.as_str()).collect();
                let what = keyword
                    .map_or("further argument".to_owned(), |name| format!("argument `{name}`"));
                let known = known.join(", ");
                return self.wrong(at, format!("`{}` has no {what} (it has: {known})", op.name));
            };
            if args.iter().any(|(name, _)| *name == param.name) {
                return self.wrong(at, format!("`{}` is given twice", param.name));
            }
            match node_arg(param, operand) {
                Some(arg) => args.push((param.name.clone(), arg)),
                None => {
                    return self.wrong(at, format!("`{}` must be {}", param.name, wanted(param)));
                }
            }
        }
        Ok(args)
    }

    /// Checks that outputs were assigned and inputs used.
    fn finish(self) -> Result<Graph, CustomError> {
        let end = self.text.trim_end().len();
        let mut outputs = Vec::new();
        for output in &self.definition.outputs {
            match self.names.iter().find(|(name, _)| *name == output.name) {
                Some((_, value)) => outputs.push(value.clone()),
                None => {
                    return self.wrong(end, format!("the graph never assigns `{}`", output.name));
                }
            }
        }
        let tensors = self.definition.tensors.iter().map(|tensor| &tensor.name);
        let in_shape = |name: &str| {
            self.definition.tensors.iter().any(|tensor| tensor.shape.names().any(|of| of == name))
        };
        let scalars = self.definition.scalars.iter().map(|(name, _)| name);
        let scalars = scalars.filter(|name| !in_shape(name));
        if let Some(unused) = tensors.chain(scalars).find(|name| !self.used.contains(name)) {
            return self.wrong(end, format!("the graph never uses `{unused}`"));
        }
        Ok(Graph { text: self.text.to_owned(), nodes: self.nodes, outputs })
    }
}

fn wanted(param: &Param) -> &'static str {
    match param.kind {
        Kind::Tensor => "a tensor",
        Kind::Tensors => "a list of tensors such as [x, y]",
        kind => kind.wanted(),
    }
}

/// Fits an operand to a parameter; `None` where it does not.
fn node_arg(param: &Param, operand: Operand) -> Option<NodeArg> {
    let literal = |value| Some(NodeArg::Literal(value));
    match (param.kind, operand) {
        (_, Operand::None) if param.optional => literal(DraftValue::None),
        (Kind::Tensor, Operand::Tensor(value)) => Some(NodeArg::Tensor(value)),
        (Kind::Tensors, Operand::List(items)) => {
            let tensors = items.into_iter().map(|item| match item {
                Operand::Tensor(value) => Some(value),
                _ => None,
            });
            Some(NodeArg::Tensors(tensors.collect::<Option<_>>()?))
        }
        (Kind::Tensor | Kind::Tensors, _) => None,
        (_, Operand::Scalar(name)) => Some(NodeArg::Scalar(name)),
        (Kind::Str | Kind::DType, Operand::Text(text)) => literal(DraftValue::Str(text)),
        (Kind::Bool, Operand::Number(value @ DraftValue::Bool(_)))
        | (Kind::Int, Operand::Number(value @ DraftValue::Int(_)))
        | (Kind::Float, Operand::Number(value @ (DraftValue::Int(_) | DraftValue::Float(_))))
        | (Kind::Scalar, Operand::Number(value)) => literal(value),
        (Kind::Ints, Operand::Number(DraftValue::Int(value))) => {
            literal(DraftValue::Ints(vec![value]))
        }
        (Kind::Int | Kind::Float | Kind::Scalar, Operand::Integer(expr)) => {
            Some(NodeArg::Int(expr))
        }
        (Kind::Ints, Operand::Integer(expr)) => Some(NodeArg::Ints(vec![expr])),
        (Kind::Ints, Operand::List(items)) => {
            let ints = items.into_iter().map(|item| match item {
                Operand::Number(DraftValue::Int(value)) => Some(Expr::Number(value)),
                Operand::Integer(expr) => Some(expr),
                _ => None,
            });
            Some(NodeArg::Ints(ints.collect::<Option<_>>()?))
        }
        (Kind::Floats, Operand::List(items)) => {
            let floats = items.into_iter().map(|item| match item {
                Operand::Number(DraftValue::Float(value)) => Some(value),
                Operand::Number(DraftValue::Int(value)) => Some(value as f64),
                _ => None,
            });
            literal(DraftValue::Floats(floats.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

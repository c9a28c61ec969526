//! Parses expressions, by recursive descent.

use super::{
    Problem,
    ast::{BinaryOp, CallArg, CompareOp, Expr, ExprKind},
    builtin::Builtin,
    lexer::Kind,
    parser::Parser,
};

/// Deepest nesting of brackets, unary operators and choices.
const MAX_NESTING: usize = 40;
/// Greatest height of an expression's tree.
const MAX_HEIGHT: usize = 100;
/// Most elements of one literal.
const MAX_ELEMENTS: usize = 256;

/// Python's statements that a plan lacks, and their replacements.
const REJECTED: [(&str, &str); 20] = [
    ("def", "a plan has no functions: write the statements in line"),
    ("lambda", "a plan has no functions: write the expression in line"),
    ("class", "a plan has no classes"),
    ("while", "a plan has no `while`: use `for i in range(n):`"),
    ("import", "a plan imports nothing; all builtins are there"),
    ("from", "a plan imports nothing; all builtins are there"),
    ("return", "a plan returns nothing: put the rest under `if`/`else`"),
    ("yield", "a plan has no generators"),
    ("break", "a plan has no `break`: bound the `range` instead"),
    ("continue", "a plan has no `continue`: use `if`"),
    ("assert", "use `require(condition)`"),
    ("raise", "use `require(False, \"why\")`"),
    ("try", "a plan has no exceptions: use `if`"),
    ("with", "a plan has no `with`"),
    ("del", "a plan has no `del`"),
    ("global", "a plan has no functions, so there is nothing to declare"),
    ("nonlocal", "a plan has no functions, so there is nothing to declare"),
    ("print", "a plan prints nothing"),
    ("async", "a plan has no coroutines"),
    ("await", "a plan has no coroutines"),
];

/// Keywords that cannot be names.
const KEYWORDS: [&str; 13] =
    ["if", "elif", "else", "for", "in", "is", "and", "or", "not", "True", "False", "None", "pass"];

/// Attributes and methods of other libraries, and their replacements in a plan.
const METHODS: [(&str, &str); 8] = [
    ("size", "write `x.shape[i]`"),
    ("dim", "write `x.ndim`"),
    ("stride", "`.stride` is a tuple: write `x.stride[i]`"),
    ("numel", "`.numel` is a number: write `x.numel`"),
    ("contiguous", "write `contiguous(x)`"),
    ("expand", "write `expand(x, shape)`"),
    ("data_ptr", "pass the tensor itself"),
    ("element_size", "write `x.itemsize`"),
];

impl Parser<'_> {
    /// Makes a node, refusing trees that are too high to walk by recursion.
    fn node(&self, kind: ExprKind, start: usize) -> Result<Expr, Problem> {
        let height = 1 + match &kind {
            ExprKind::None
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Name(_) => 0,
            ExprKind::Attribute(of, _) | ExprKind::Negate(of) | ExprKind::Not(of) => of.height,
            ExprKind::Index(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b) => a.height.max(b.height),
            ExprKind::Choice { condition, then, otherwise } => {
                condition.height.max(then.height).max(otherwise.height)
            }
            ExprKind::Tuple(items) => items.iter().map(|item| item.height).max().unwrap_or(0),
            ExprKind::Call { args, .. } => {
                args.iter().map(|arg| arg.value.height).max().unwrap_or(0)
            }
            ExprKind::Compare(first, rest) => {
                rest.iter().map(|(_, item)| item.height).max().unwrap_or(0).max(first.height)
            }
        };
        if height > MAX_HEIGHT {
            return Err(Problem::new(start, "the expression is too long")
                .hint("split it into several assignments"));
        }
        let end = self.tokens[self.at.saturating_sub(1)].end.max(start);
        Ok(Expr { kind, start, end, height })
    }

    /// Runs a parser one nesting level deeper.
    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if self.nesting >= MAX_NESTING {
            return Err(Problem::new(self.start(), "the expression is nested too deeply")
                .hint("split it into several assignments"));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// Parses `a, b, c`: one expression, or a tuple without parentheses.
    pub(super) fn expression_list(&mut self) -> Result<Expr, Problem> {
        let start = self.start();
        let first = self.expression()?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.accept_op(",") {
            if self.kind() == &Kind::Newline || self.is_op("=") {
                break;
            }
            items.push(self.expression()?);
        }
        self.check_len(&items, start)?;
        self.node(ExprKind::Tuple(items), start)
    }

    fn check_len<T>(&self, items: &[T], start: usize) -> Result<(), Problem> {
        if items.len() > MAX_ELEMENTS {
            let message = format!("a literal has at most {MAX_ELEMENTS} elements");
            return Err(Problem::new(start, message));
        }
        Ok(())
    }

    /// Parses one expression.
    pub(super) fn expression(&mut self) -> Result<Expr, Problem> {
        self.nested(|parser| {
            let start = parser.start();
            let then = parser.disjunction()?;
            if !parser.accept_word("if") {
                return Ok(then);
            }
            let condition = Box::new(parser.disjunction()?);
            if !parser.accept_word("else") {
                return Err(parser.unexpected("expected `else`"));
            }
            let otherwise = Box::new(parser.expression()?);
            parser.node(ExprKind::Choice { condition, then: Box::new(then), otherwise }, start)
        })
    }

    fn disjunction(&mut self) -> Result<Expr, Problem> {
        let start = self.start();
        let mut left = self.conjunction()?;
        while self.accept_word("or") {
            let right = self.conjunction()?;
            left = self.node(ExprKind::Or(Box::new(left), Box::new(right)), start)?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expr, Problem> {
        let start = self.start();
        let mut left = self.negation()?;
        while self.accept_word("and") {
            let right = self.negation()?;
            left = self.node(ExprKind::And(Box::new(left), Box::new(right)), start)?;
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expr, Problem> {
        let start = self.start();
        if self.accept_word("not") {
            let of = self.nested(Self::negation)?;
            return self.node(ExprKind::Not(Box::new(of)), start);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Expr, Problem> {
        let start = self.start();
        let first = self.arithmetic(1)?;
        let mut rest = Vec::new();
        while let Some(op) = self.compare_op()? {
            rest.push((op, self.arithmetic(1)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.check_len(&rest, start)?;
        self.node(ExprKind::Compare(Box::new(first), rest), start)
    }

    fn compare_op(&mut self) -> Result<Option<CompareOp>, Problem> {
        let op = match self.kind() {
            Kind::Op("==") => CompareOp::Equal,
            Kind::Op("!=") => CompareOp::NotEqual,
            Kind::Op("<") => CompareOp::Less,
            Kind::Op("<=") => CompareOp::LessEqual,
            Kind::Op(">") => CompareOp::Greater,
            Kind::Op(">=") => CompareOp::GreaterEqual,
            Kind::Name if self.text() == "in" => CompareOp::In,
            Kind::Name if self.text() == "is" => {
                self.at += 1;
                let not = self.accept_word("not");
                return Ok(Some(if not { CompareOp::IsNot } else { CompareOp::Is }));
            }
            Kind::Name if self.text() == "not" => {
                self.at += 1;
                if !self.accept_word("in") {
                    return Err(self.unexpected("expected `in`"));
                }
                return Ok(Some(CompareOp::NotIn));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(op))
    }

    /// Parses binary operators of at least the given precedence.
    fn arithmetic(&mut self, min: u8) -> Result<Expr, Problem> {
        let start = self.start();
        let mut left = self.unary()?;
        loop {
            if self.is_op("/") || self.is_op("**") {
                let op = self.text();
                return Err(self.unexpected(&format!("`{op}` is not part of the plan language")));
            }
            let Kind::Op(op) = self.kind() else { return Ok(left) };
            let Some(op) = BinaryOp::parse(op).filter(|op| op.precedence() >= min) else {
                return Ok(left);
            };
            self.at += 1;
            let right = self.arithmetic(op.precedence() + 1)?;
            left = self.node(ExprKind::Binary(op, Box::new(left), Box::new(right)), start)?;
        }
    }

    fn unary(&mut self) -> Result<Expr, Problem> {
        let start = self.start();
        if self.accept_op("-") {
            let of = self.nested(Self::unary)?;
            return self.node(ExprKind::Negate(Box::new(of)), start);
        }
        if self.is_op("*") || self.is_op("**") {
            return Err(Problem::new(start, "unpacking is not part of the plan language")
                .hint("name the elements one by one: `x.shape[0], x.shape[1]`"));
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Result<Expr, Problem> {
        let start = self.start();
        let mut expr = self.expression_atom()?;
        loop {
            if self.accept_op(".") {
                let name = self.text();
                if self.kind() != &Kind::Name {
                    return Err(self.unexpected("expected an attribute's name"));
                }
                self.at += 1;
                expr = self.node(ExprKind::Attribute(Box::new(expr), name.to_owned()), start)?;
            } else if self.accept_op("[") {
                let index = self.expression_list()?;
                if self.is_op(":") {
                    return Err(Problem::new(
                        self.start(),
                        "slices are not part of the plan language",
                    )
                    .hint("index single elements, in a `for` loop if need be"));
                }
                self.expect_op("]")?;
                expr = self.node(ExprKind::Index(Box::new(expr), Box::new(index)), start)?;
            } else if self.is_op("(") {
                expr = self.call(&expr)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn call(&mut self, callee: &Expr) -> Result<Expr, Problem> {
        let builtin = match &callee.kind {
            ExprKind::Name(name) => Builtin::find(name).ok_or_else(|| {
                let known = Builtin::ALL.iter().map(|builtin| builtin.spec().name);
                Problem::new(callee.start, format!("unknown function `{name}`")).hint_or(
                    kgen_ops::nearest(name, known),
                    "functions are the plan's builtins only",
                )
            })?,
            ExprKind::Attribute(_, name) => {
                let hint = METHODS.iter().find(|(method, _)| method == name);
                return Err(Problem::new(callee.start, format!("`.{name}()` is no method here"))
                    .hint(hint.map_or("a plan has no methods", |(_, hint)| hint)));
            }
            _ => return Err(Problem::new(callee.start, "this cannot be called")),
        };
        self.at += 1;
        let mut args: Vec<CallArg> = Vec::new();
        while !self.accept_op(")") {
            args.push(self.call_arg(args.last())?);
            if !self.is_op(")") && !self.accept_op(",") {
                return Err(self.unexpected("expected `,` or `)`"));
            }
        }
        self.check_len(&args, callee.start)?;
        self.node(ExprKind::Call { builtin, args }, callee.start)
    }

    fn call_arg(&mut self, last: Option<&CallArg>) -> Result<CallArg, Problem> {
        let keyword = self.kind() == &Kind::Name
            && self.tokens.get(self.at + 1).is_some_and(|next| next.kind == Kind::Op("="));
        if keyword {
            let name = Some(self.text().to_owned());
            self.at += 2;
            return Ok(CallArg { name, value: self.expression()? });
        }
        if last.is_some_and(|last| last.name.is_some()) {
            return Err(Problem::new(self.start(), "a positional argument follows a named one")
                .hint("name it, or put it first"));
        }
        Ok(CallArg { name: None, value: self.expression()? })
    }

    /// Parses a name, a literal or a bracket.
    pub(super) fn expression_atom(&mut self) -> Result<Expr, Problem> {
        let start = self.start();
        let kind = match self.kind() {
            Kind::Int(value) => ExprKind::Int(*value),
            Kind::Float(value) => ExprKind::Float(*value),
            Kind::Str(text) => ExprKind::Str(text.clone()),
            Kind::Name => self.name()?,
            Kind::Op("(") => return self.bracketed(")"),
            Kind::Op("[") => return self.bracketed("]"),
            Kind::Op(_) | Kind::Newline | Kind::Indent | Kind::Dedent | Kind::End => {
                return Err(self.unexpected("expected an expression"));
            }
        };
        self.at += 1;
        if matches!(self.kind(), Kind::Str(_)) {
            return Err(self.unexpected("expected an operator"));
        }
        self.node(kind, start)
    }

    fn name(&self) -> Result<ExprKind, Problem> {
        let name = self.text();
        let rejected = REJECTED.iter().find(|(word, _)| *word == name);
        if let Some((word, hint)) = rejected {
            let message = format!("`{word}` is not part of the plan language");
            return Err(Problem::new(self.start(), message).hint(*hint));
        }
        match name {
            "True" => Ok(ExprKind::Bool(true)),
            "False" => Ok(ExprKind::Bool(false)),
            "None" => Ok(ExprKind::None),
            _ if KEYWORDS.contains(&name) => Err(self.unexpected("expected an expression")),
            _ => Ok(ExprKind::Name(name.to_owned())),
        }
    }

    /// Parses a list, a tuple, or an expression in parentheses.
    fn bracketed(&mut self, close: &'static str) -> Result<Expr, Problem> {
        self.nested(|parser| {
            let start = parser.start();
            parser.at += 1;
            let mut items = Vec::new();
            let mut comma = close == "]";
            while !parser.accept_op(close) {
                items.push(parser.expression()?);
                if parser.accept_op(",") {
                    comma = true;
                } else if !parser.is_op(close) {
                    return Err(parser.unexpected(&format!("expected `,` or `{close}`")));
                }
            }
            parser.check_len(&items, start)?;
            if comma || items.is_empty() {
                return parser.node(ExprKind::Tuple(items), start);
            }
            let mut only = items.pop().expect("a group without comma has one element");
            (only.start, only.end) = (start, parser.tokens[parser.at - 1].end);
            Ok(only)
        })
    }
}

//! Builds the syntax tree of a plan: the statements.

use super::{
    Problem,
    ast::{BinaryOp, Expr, ExprKind, Stmt, Target},
    builtin::Builtin,
    lexer::{Kind, Token},
};

/// Parses a whole plan.
pub(super) fn parse(source: &str, tokens: &[Token]) -> Result<Vec<Stmt>, Problem> {
    let mut parser = Parser { source, tokens, at: 0, nesting: 0 };
    let mut body = Vec::new();
    while parser.kind() != &Kind::End {
        parser.statement(&mut body)?;
    }
    Ok(body)
}

/// The state of the parser; [`super::expression`] adds the expressions.
pub(super) struct Parser<'a> {
    source: &'a str,
    pub(super) tokens: &'a [Token],
    /// Index of the next token.
    pub(super) at: usize,
    /// Open brackets, unary operators and choices.
    pub(super) nesting: usize,
}

impl<'a> Parser<'a> {
    fn token(&self) -> &'a Token {
        // The last token is `End`, which is never passed over.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn kind(&self) -> &'a Kind {
        &self.token().kind
    }

    pub(super) fn start(&self) -> usize {
        self.token().start
    }

    pub(super) fn text(&self) -> &'a str {
        let token = self.token();
        match token.kind {
            Kind::Newline | Kind::Indent | Kind::Dedent | Kind::End => "end of line",
            Kind::Name | Kind::Int(_) | Kind::Float(_) | Kind::Str(_) | Kind::Op(_) => {
                &self.source[token.start..token.end]
            }
        }
    }

    pub(super) fn is_op(&self, op: &str) -> bool {
        matches!(self.kind(), Kind::Op(this) if *this == op)
    }

    fn is_word(&self, word: &str) -> bool {
        self.kind() == &Kind::Name && self.text() == word
    }

    pub(super) fn accept_op(&mut self, op: &str) -> bool {
        let found = self.is_op(op);
        self.at += usize::from(found);
        found
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_op(&mut self, op: &'static str) -> Result<(), Problem> {
        if self.accept_op(op) { Ok(()) } else { Err(self.unexpected(&format!("expected `{op}`"))) }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Problem {
        let problem =
            Problem::new(self.start(), format!("{wanted}, found `{}`", self.text().trim()));
        match self.kind() {
            Kind::Op("/") => {
                problem.hint("there is no `/`: use `//` for integers, or divide in the kernel")
            }
            Kind::Op("**") => {
                problem.hint("there is no `**`: use `<<` for powers of two, or multiply")
            }
            Kind::Op("=") => problem.hint("use `==` to compare"),
            Kind::Op(":=") => problem.hint("assign in a statement of its own"),
            Kind::Str(_) => problem.hint("there are no f-strings and no string arithmetic"),
            Kind::Indent => problem.hint("this line is indented more than its block"),
            Kind::Name if self.is_word("for") => {
                problem.hint("there are no comprehensions: use a `for` statement")
            }
            _ => problem,
        }
    }

    /// Parses one logical line, with the block under it if it has one, into `body`.
    fn statement(&mut self, body: &mut Vec<Stmt>) -> Result<(), Problem> {
        if let Kind::Indent = self.kind() {
            return Err(Problem::new(self.start(), "unexpected indentation"));
        }
        if self.is_word("if") {
            body.push(self.if_statement()?);
            return Ok(());
        }
        if self.is_word("for") {
            body.push(self.for_statement()?);
            return Ok(());
        }
        self.simple_line(body)
    }

    /// Parses `a; b; c` up to the end of the line.
    fn simple_line(&mut self, body: &mut Vec<Stmt>) -> Result<(), Problem> {
        loop {
            body.push(self.simple_statement()?);
            if !self.accept_op(";") || self.kind() == &Kind::Newline {
                break;
            }
        }
        if self.kind() != &Kind::Newline {
            return Err(self.unexpected("expected the end of the statement"));
        }
        self.at += 1;
        Ok(())
    }

    /// Parses the statements behind the `:` of a compound statement.
    fn block(&mut self) -> Result<Vec<Stmt>, Problem> {
        self.expect_op(":")?;
        let mut body = Vec::new();
        if self.kind() != &Kind::Newline {
            self.simple_line(&mut body)?;
            return Ok(body);
        }
        self.at += 1;
        if self.kind() != &Kind::Indent {
            return Err(Problem::new(self.start(), "expected an indented block"));
        }
        self.at += 1;
        while !matches!(self.kind(), Kind::Dedent | Kind::End) {
            self.statement(&mut body)?;
        }
        self.at += usize::from(self.kind() == &Kind::Dedent);
        Ok(body)
    }

    fn if_statement(&mut self) -> Result<Stmt, Problem> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        self.at += 1;
        loop {
            let condition = self.expression()?;
            branches.push((condition, self.block()?));
            if self.accept_word("elif") {
                continue;
            }
            if self.accept_word("else") {
                otherwise = self.block()?;
            }
            return Ok(Stmt::If { branches, otherwise });
        }
    }

    fn for_statement(&mut self) -> Result<Stmt, Problem> {
        self.at += 1;
        let target = self.expression_atom()?;
        let target = self.target(target)?;
        if !self.accept_word("in") {
            return Err(self.unexpected("expected `in`"));
        }
        let iterable = self.expression()?;
        Ok(Stmt::For { target, iterable, body: self.block()? })
    }

    fn simple_statement(&mut self) -> Result<Stmt, Problem> {
        if self.accept_word("pass") {
            return Ok(Stmt::Pass);
        }
        if self.is_word("elif") || self.is_word("else") {
            return Err(self.unexpected("expected a statement"));
        }
        let value = self.expression_list()?;
        if self.accept_op("=") {
            let targets = match value.kind {
                ExprKind::Tuple(items) if self.source.as_bytes()[value.start] != b'[' => {
                    items.into_iter().map(|item| self.target(item)).collect::<Result<_, _>>()?
                }
                _ => vec![self.target(value)?],
            };
            let value = self.expression_list()?;
            if self.is_op("=") {
                return Err(Problem::new(self.start(), "chained assignment is not supported")
                    .hint("write one assignment per statement"));
            }
            return Ok(Stmt::Assign { targets, value });
        }
        if let Kind::Op(op) = self.kind()
            && let Some(symbol) = op.strip_suffix('=')
            && let Some(op) = BinaryOp::parse(symbol)
            && !matches!(self.text(), "<=" | ">=")
        {
            let target = self.target(value)?;
            self.at += 1;
            return Ok(Stmt::Augment { target, op, value: self.expression()? });
        }
        if !matches!(value.kind, ExprKind::Call { .. }) {
            return Err(self
                .unexpected_after(&value)
                .unwrap_or_else(|| Problem::new(value.start, "this statement has no effect")));
        }
        Ok(Stmt::Expr(value))
    }

    /// Explains the tokens behind an expression that is no statement.
    fn unexpected_after(&self, value: &Expr) -> Option<Problem> {
        if matches!(self.kind(), Kind::Newline | Kind::End) || self.is_op(";") {
            return None;
        }
        if self.is_op(":") && matches!(value.kind, ExprKind::Name(_)) {
            return Some(Problem::new(
                self.start(),
                "annotations are not part of the plan language",
            ));
        }
        Some(self.unexpected("expected the end of the statement"))
    }

    fn target(&self, expr: Expr) -> Result<Target, Problem> {
        match expr.kind {
            ExprKind::Name(name) => {
                if Builtin::find(&name).is_some() {
                    return Err(Problem::new(
                        expr.start,
                        format!("`{name}` is a builtin and cannot be assigned to"),
                    )
                    .hint("choose another name"));
                }
                Ok(Target { name, offset: expr.start })
            }
            ExprKind::Attribute(..) | ExprKind::Index(..) => Err(Problem::new(
                expr.start,
                format!("`{}` cannot be assigned to", &self.source[expr.start..expr.end]),
            )
            .hint("tensors and tuples are read-only; assign to a plain name")),
            _ => Err(Problem::new(expr.start, "only plain names can be assigned to")),
        }
    }
}

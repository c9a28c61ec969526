//! Runs the statements of a plan and evaluates its expressions.

use std::collections::BTreeMap;

use kgen_record::{DType, ResolvedPlan};

use super::{
    super::file::line_of,
    Env, Problem,
    amount::Amounts,
    ast::{CompareOp, Expr, ExprKind, Stmt, Target},
    builtin::Builtin,
    operator::{binary, negate, order, truth},
    value::{ATTRIBUTES, Value, to_i64},
};

/// Steps that one evaluation may take.
const FUEL: u32 = 100_000;

/// Why an evaluation stops early.
#[derive(Debug)]
pub(super) enum PlanEvalError {
    Problem(Problem),
    Declined { offset: usize, condition: String },
}

impl From<Problem> for PlanEvalError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Runs a parsed plan; `start` is the offset that errors about the whole plan name.
pub(super) fn run(
    text: &str,
    start: usize,
    body: &[Stmt],
    env: &Env,
    chosen: &BTreeMap<String, i64>,
) -> Result<ResolvedPlan, PlanEvalError> {
    let mut evaluator = Evaluator {
        text,
        env,
        chosen,
        names: env.names.clone(),
        fuel: FUEL,
        plan: ResolvedPlan::default(),
        launches: 0,
        fills: 0,
        amounts: Amounts::default(),
        target: None,
    };
    evaluator.block(body)?;
    if evaluator.launches + evaluator.fills == 0 && env.output_elements > 0 {
        return Err(Problem::new(start, "the plan launches nothing")
            .hint("add `launch(\"kernel\", grid=.., block=.., args=[..])`")
            .into());
    }
    let mut plan = evaluator.plan;
    plan.defines.sort();
    Ok(plan)
}

/// The state of an evaluation.
pub(super) struct Evaluator<'a> {
    /// The kernel file.
    pub(super) text: &'a str,
    pub(super) env: &'a Env,
    pub(super) chosen: &'a BTreeMap<String, i64>,
    names: BTreeMap<String, Value>,
    fuel: u32,
    pub(super) plan: ResolvedPlan,
    /// Calls of `launch` and of libraries, dropped ones included.
    pub(super) launches: usize,
    /// Calls of `fill`.
    pub(super) fills: usize,
    pub(super) amounts: Amounts,
    /// The name being assigned to: a new buffer's label.
    pub(super) target: Option<String>,
}

impl Evaluator<'_> {
    fn spend(&mut self, offset: usize) -> Result<(), Problem> {
        self.fuel = self.fuel.checked_sub(1).ok_or_else(|| {
            Problem::new(offset, format!("the plan takes more than {FUEL} steps"))
                .hint("loops in a plan are for a few launches; loop over data in the kernel")
        })?;
        Ok(())
    }

    fn block(&mut self, body: &[Stmt]) -> Result<(), PlanEvalError> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt) -> Result<(), PlanEvalError> {
        match statement {
            Stmt::Assign { targets, value } => self.assign(targets, value),
            Stmt::Augment { target, op, value } => {
                self.spend(target.offset)?;
                let old = self.lookup(&target.name, target.offset)?;
                let new = self.expr(value)?;
                let result = binary(*op, &old, &new, target.offset)?;
                self.names.insert(target.name.clone(), result);
                Ok(())
            }
            Stmt::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.decides(condition)? {
                        return self.block(body);
                    }
                }
                self.block(otherwise)
            }
            Stmt::For { target, iterable, body } => self.for_loop(target, iterable, body),
            Stmt::Expr(expr) => self.expr(expr).map(drop),
            Stmt::Pass => Ok(()),
        }
    }

    fn assign(&mut self, targets: &[Target], value: &Expr) -> Result<(), PlanEvalError> {
        if let [target] = targets {
            self.target = Some(target.name.clone());
            let value = self.expr(value);
            self.target = None;
            self.names.insert(target.name.clone(), value?);
            return Ok(());
        }
        let result = self.expr(value)?;
        let Value::Tuple(items) = &result else {
            let message =
                format!("{} cannot be assigned to {} names", result.kind(), targets.len());
            return Err(Problem::new(value.start, message).into());
        };
        if items.len() != targets.len() {
            let message = format!("{} values for {} names", items.len(), targets.len());
            return Err(Problem::new(value.start, message).into());
        }
        for (target, item) in targets.iter().zip(items.iter()) {
            self.names.insert(target.name.clone(), item.clone());
        }
        Ok(())
    }

    fn for_loop(
        &mut self,
        target: &Target,
        iterable: &Expr,
        body: &[Stmt],
    ) -> Result<(), PlanEvalError> {
        let over = self.expr(iterable)?;
        match over {
            Value::Range { start, stop, step } => {
                let mut at = start;
                while (step > 0 && at < stop) || (step < 0 && at > stop) {
                    self.spend(target.offset)?;
                    self.names.insert(target.name.clone(), Value::Int(at));
                    self.block(body)?;
                    let Some(next) = at.checked_add(step) else { break };
                    at = next;
                }
                Ok(())
            }
            Value::Tuple(items) => {
                for item in items.iter() {
                    self.spend(target.offset)?;
                    self.names.insert(target.name.clone(), item.clone());
                    self.block(body)?;
                }
                Ok(())
            }
            other => {
                let message = format!("`for` cannot run over {}", other.kind());
                Err(Problem::new(iterable.start, message).hint("use `range(n)`").into())
            }
        }
    }

    fn lookup(&self, name: &str, offset: usize) -> Result<Value, Problem> {
        if let Some(value) = self.names.get(name) {
            return Ok(value.clone());
        }
        if Builtin::find(name).is_some() {
            return Err(Problem::new(offset, format!("`{name}` is a function"))
                .hint(format!("call it: `{name}(..)`")));
        }
        let names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        let otherwise = format!("known here: {}", names.join(", "));
        Err(Problem::new(offset, format!("unknown name `{name}`"))
            .hint_or(kgen_ops::nearest(name, names), &otherwise))
    }

    /// Evaluates an expression.
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Value, PlanEvalError> {
        self.spend(expr.start)?;
        // Only the outermost call of an assignment makes the buffer of that name.
        let target = self.target.take();
        match &expr.kind {
            ExprKind::None => Ok(Value::None),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Int(value) => Ok(Value::Int(*value)),
            ExprKind::Float(value) => Ok(Value::Float(*value)),
            ExprKind::Str(text) => Ok(Value::Str(text.as_str().into())),
            ExprKind::Name(name) => Ok(self.lookup(name, expr.start)?),
            ExprKind::Tuple(items) => self.tuple(items),
            ExprKind::Attribute(of, name) => self.attribute(of, name),
            ExprKind::Index(of, index) => self.index(of, index),
            ExprKind::Call { builtin, args } => self.call(*builtin, args, expr, target),
            ExprKind::Negate(of) => Ok(negate(&self.expr(of)?, expr.start)?),
            ExprKind::Not(of) => Ok(Value::Bool(!self.condition(of)?)),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                Ok(binary(*op, &left, &right, expr.start)?)
            }
            ExprKind::Compare(first, rest) => self.compare(first, rest),
            ExprKind::And(left, right) => {
                let left_value = self.expr(left)?;
                if truth(&left_value, left.start)? { self.expr(right) } else { Ok(left_value) }
            }
            ExprKind::Or(left, right) => {
                let left_value = self.expr(left)?;
                if truth(&left_value, left.start)? { Ok(left_value) } else { self.expr(right) }
            }
            ExprKind::Choice { condition, then, otherwise } => {
                if self.decides(condition)? {
                    self.expr(then)
                } else {
                    self.expr(otherwise)
                }
            }
        }
    }

    /// Evaluates a condition that decides which part of the plan is evaluated.
    fn decides(&mut self, expr: &Expr) -> Result<bool, PlanEvalError> {
        let holds = self.condition(expr)?;
        self.plan.conditions.insert((line_of(self.text, expr.start), holds));
        Ok(holds)
    }

    fn condition(&mut self, expr: &Expr) -> Result<bool, PlanEvalError> {
        let value = self.expr(expr)?;
        Ok(truth(&value, expr.start)?)
    }

    fn tuple(&mut self, items: &[Expr]) -> Result<Value, PlanEvalError> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let value = self.expr(item)?;
            let nested = |value: &Value| matches!(value, Value::Tuple(_));
            // Deeper nesting would let a short plan describe a huge value.
            if let Value::Tuple(inner) = &value
                && inner.iter().any(nested)
            {
                return Err(Problem::new(item.start, "tuples are nested too deeply").into());
            }
            values.push(value);
        }
        Ok(Value::Tuple(values.into()))
    }

    fn attribute(&mut self, of: &Expr, name: &str) -> Result<Value, PlanEvalError> {
        let value = self.expr(of)?;
        match &value {
            Value::Tensor(tensor) => tensor.attribute(name).ok_or_else(|| {
                let otherwise = format!("tensors have {}", ATTRIBUTES.join(", "));
                Problem::new(of.end, format!("tensors have no attribute `{name}`"))
                    .hint_or(kgen_ops::nearest(name, ATTRIBUTES), &otherwise)
                    .into()
            }),
            Value::None => Err(Problem::new(of.start, format!("None has no attribute `{name}`"))
                .hint("an optional input that is left out is None: ask `has(x)` first")
                .into()),
            other => {
                let message = format!("{} has no attribute `{name}`", other.kind());
                Err(Problem::new(of.start, message).into())
            }
        }
    }

    fn index(&mut self, of: &Expr, index: &Expr) -> Result<Value, PlanEvalError> {
        let value = self.expr(of)?;
        let at = self.int(index)?;
        let Value::Tuple(items) = &value else {
            let message = format!("{} cannot be indexed", value.kind());
            let problem = Problem::new(of.start, message);
            return Err(match value {
                Value::Tensor(_) => {
                    problem.hint("a plan never sees data; for extents: `x.shape[i]`")
                }
                _ => problem,
            }
            .into());
        };
        let len = to_i64(items.len());
        let position = usize::try_from(if at < 0 { at + len } else { at }).ok();
        position.and_then(|position| items.get(position)).cloned().ok_or_else(|| {
            Problem::new(index.start, format!("index {at} is outside a tuple of {len}")).into()
        })
    }

    /// Evaluates an expression that must be an integer.
    pub(super) fn int(&mut self, expr: &Expr) -> Result<i64, PlanEvalError> {
        let value = self.expr(expr)?;
        value.as_int().ok_or_else(|| {
            Problem::new(expr.start, format!("expected an integer, found {}", value.kind())).into()
        })
    }

    fn compare(
        &mut self,
        first: &Expr,
        rest: &[(CompareOp, Expr)],
    ) -> Result<Value, PlanEvalError> {
        let mut left = self.expr(first)?;
        for (op, expr) in rest {
            let right = self.expr(expr)?;
            if !self.compare_pair(*op, &left, &right, expr.start)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn compare_pair(
        &mut self,
        op: CompareOp,
        left: &Value,
        right: &Value,
        offset: usize,
    ) -> Result<bool, PlanEvalError> {
        match op {
            CompareOp::Equal => self.equal(left, right, offset),
            CompareOp::NotEqual => Ok(!self.equal(left, right, offset)?),
            CompareOp::Is | CompareOp::IsNot => {
                if !matches!(right, Value::None | Value::Bool(_)) {
                    return Err(Problem::new(
                        offset,
                        "`is` compares with None, True and False only",
                    )
                    .hint("use `==`")
                    .into());
                }
                let same = match (left, right) {
                    (Value::None, Value::None) => true,
                    (Value::Bool(a), Value::Bool(b)) => a == b,
                    _ => false,
                };
                Ok(same == (op == CompareOp::Is))
            }
            CompareOp::In | CompareOp::NotIn => {
                let Value::Tuple(items) = right else {
                    let message = format!("`in` needs a tuple, found {}", right.kind());
                    return Err(Problem::new(offset, message).into());
                };
                let mut found = false;
                for item in items.iter() {
                    found = found || self.equal(left, item, offset)?;
                }
                Ok(found == (op == CompareOp::In))
            }
            CompareOp::Less
            | CompareOp::LessEqual
            | CompareOp::Greater
            | CompareOp::GreaterEqual => Ok(order(op, left, right, offset)?),
        }
    }

    /// Compares as Python's `==` does; every comparison is a step.
    fn equal(&mut self, left: &Value, right: &Value, offset: usize) -> Result<bool, PlanEvalError> {
        self.spend(offset)?;
        match (left, right) {
            (Value::None, Value::None) => Ok(true),
            (Value::Str(a), Value::Str(b)) => Ok(a == b),
            (Value::DType(a), Value::DType(b)) => Ok(a == b),
            (Value::DType(dtype), Value::Str(text)) | (Value::Str(text), Value::DType(dtype)) => {
                let known = text.parse::<DType>().map_err(|_| {
                    let names = DType::ALL.map(DType::name);
                    let message = format!("`{text}` is no dtype, so this never holds");
                    Problem::new(offset, message).hint(format!("dtypes are {}", names.join(", ")))
                })?;
                Ok(known == *dtype)
            }
            (Value::Tuple(a), Value::Tuple(b)) => {
                let mut same = a.len() == b.len();
                for (a, b) in a.iter().zip(b.iter()) {
                    same = same && self.equal(a, b, offset)?;
                }
                Ok(same)
            }
            (Value::Tensor(_) | Value::Pointer(_), Value::None)
            | (Value::None, Value::Tensor(_) | Value::Pointer(_)) => Ok(false),
            (Value::Tensor(_) | Value::Pointer(_), _)
            | (_, Value::Tensor(_) | Value::Pointer(_)) => {
                Err(Problem::new(offset, "tensors and pointers cannot be compared")
                    .hint("compare shapes, or ask `has(x)`")
                    .into())
            }
            _ => match (left.as_int(), right.as_int()) {
                (Some(a), Some(b)) => Ok(a == b),
                // Exact by purpose: this is the language's `==`.
                _ => Ok(left
                    .as_float()
                    .zip(right.as_float())
                    .is_some_and(|(a, b)| a.partial_cmp(&b) == Some(std::cmp::Ordering::Equal))),
            },
        }
    }

    /// Returns the text of an expression.
    pub(super) fn source(&self, expr: &Expr) -> String {
        self.text[expr.start..expr.end].split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

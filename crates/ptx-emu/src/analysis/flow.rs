//! Follows the addresses of module variables through registers and parameters.
//!
//! Flow-insensitive: a register holds whatever any instruction of its function puts into it. An
//! address stays one only under moves, conversions of its space, choices by a predicate and added
//! offsets that hold no address; nothing else may take it, so that no other value depends on it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Facts, Misuse, MisuseKind,
    args::{Arg, Body, Entity, Resolved, Step, Variable},
};

/// Addresses of module variables that a value may be, offsets added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Pointer {
    to: BTreeSet<Variable>,
    /// The offset may be so large that the sum wraps around.
    is_wide: bool,
}

impl Pointer {
    fn of(variable: Variable) -> Self {
        Self { to: BTreeSet::from([variable]), is_wide: false }
    }

    /// Adds the targets of another; gives whether any is new.
    fn join(&mut self, other: &Self) -> bool {
        let before = (self.to.len(), self.is_wide);
        self.to.extend(&other.to);
        self.is_wide |= other.is_wide;
        before != (self.to.len(), self.is_wide)
    }

    fn with_offset(mut self, is_narrow: bool) -> Self {
        self.is_wide |= !is_narrow;
        self
    }
}

/// Where an address goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A register of the function.
    Register(usize),
    /// A place of a parameter.
    Param(usize, i64),
}

/// Result of an instruction: the addresses that it passes on, or the one that it misuses.
type StepResult = Result<Vec<(Target, Pointer)>, (Variable, MisuseKind)>;

/// Bits of an offset that is far from making an address wrap around.
const NARROW_BITS: u32 = 36;

/// Opcodes whose first operand is only a result.
const RESULT_FIRST: [&str; 22] = [
    "mov", "cvta", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "neg",
    "abs", "min", "max", "div", "rem", "cvt", "selp", "bfe", "lop3",
];

struct Flow<'r, 'a> {
    module: &'r Resolved<'a>,
    /// Addresses in registers, by function.
    registers: Vec<BTreeMap<usize, Pointer>>,
    /// Addresses in parameters, by their offset.
    params: Vec<BTreeMap<i64, Pointer>>,
    /// Registers, by function, whose values are offsets of few bits.
    narrow: Vec<Vec<bool>>,
}

/// Adds the misuses to the facts.
pub(super) fn follow(module: &Resolved<'_>, facts: &mut Facts) {
    let named = |arg: &Arg| arg.entities().iter().any(|e| matches!(e, Entity::Module(_)));
    if !module.bodies.iter().any(|body| body.steps.iter().any(|s| s.args.iter().any(named))) {
        return;
    }
    let mut flow = Flow {
        module,
        registers: vec![BTreeMap::new(); module.bodies.len()],
        params: vec![BTreeMap::new(); module.params],
        narrow: module.bodies.iter().map(narrow_registers).collect(),
    };
    while flow.round() {}
    for (at, body) in module.bodies.iter().enumerate() {
        for step in &body.steps {
            if let Err((variable, kind)) = flow.step(at, step) {
                facts.misuses.push(Misuse {
                    variable: module.variables[variable].to_owned(),
                    kind,
                    opcode: step.opcode.to_owned(),
                    place: step.place,
                });
            }
        }
    }
}

impl Flow<'_, '_> {
    /// Applies every instruction once; gives whether anything is new.
    fn round(&mut self) -> bool {
        let mut changed = false;
        for (at, body) in self.module.bodies.iter().enumerate() {
            for step in &body.steps {
                for (target, pointer) in self.step(at, step).unwrap_or_default() {
                    let held = match target {
                        Target::Register(r) => self.registers[at].entry(r).or_default(),
                        Target::Param(p, offset) => self.params[p].entry(offset).or_default(),
                    };
                    changed |= held.join(&pointer);
                }
            }
        }
        changed
    }

    /// The addresses that a name may stand for.
    fn entity(&self, at: usize, entity: Entity) -> Option<Pointer> {
        match entity {
            Entity::Register(register) => self.registers[at].get(&register).cloned(),
            Entity::Module(variable) => Some(Pointer::of(variable)),
            Entity::Param(param) => self.params[param].values().next().cloned(),
            Entity::Function(_) | Entity::Reader | Entity::Other => None,
        }
    }

    /// The addresses that a plain operand may be.
    fn value(&self, at: usize, arg: &Arg) -> Option<Pointer> {
        match arg {
            Arg::Name(entity) => self.entity(at, *entity),
            _ => None,
        }
    }

    /// A variable whose address is among the operands.
    fn any(&self, at: usize, args: &[Arg]) -> Option<Variable> {
        let mut entities = args.iter().flat_map(Arg::entities);
        entities.find_map(|entity| self.entity(at, entity)?.to.first().copied())
    }

    /// Refuses operands that hold an address.
    fn free_of(
        &self,
        at: usize,
        args: &[Arg],
        kind: MisuseKind,
    ) -> Result<(), (Variable, MisuseKind)> {
        self.any(at, args).map_or(Ok(()), |variable| Err((variable, kind)))
    }

    fn step(&self, at: usize, step: &Step<'_>) -> StepResult {
        let args = &step.args[..];
        if step.head() != "call" && self.any(at, args).is_none() {
            return Ok(Vec::new());
        }
        let offset = |arg: &Arg| is_narrow(arg, &self.narrow[at]);
        let value = |arg: &Arg| self.value(at, arg);
        match (step.head(), args) {
            ("mov", [to, from]) if step.is(&["mov.u64", "mov.b64", "mov.s64"]) => {
                self.assign(at, to, value(from), from)
            }
            ("cvta", [to, from]) if step.bits() == 64 => self.assign(at, to, value(from), from),
            ("add", [to, a, b]) if step.is(&["add.u64", "add.s64"]) => match (value(a), value(b)) {
                (Some(pointer), None) => {
                    self.assign(at, to, Some(pointer.with_offset(offset(b))), b)
                }
                (None, Some(pointer)) => {
                    self.assign(at, to, Some(pointer.with_offset(offset(a))), a)
                }
                (None, None) => Ok(Vec::new()),
                (Some(_), Some(_)) => self.refuse(at, args),
            },
            ("sub", [to, a, b]) if step.is(&["sub.u64", "sub.s64"]) => match (value(a), value(b)) {
                (Some(pointer), None) => {
                    self.assign(at, to, Some(pointer.with_offset(offset(b))), b)
                }
                (None, None) => Ok(Vec::new()),
                // A distance within one variable says nothing of where it lies.
                (Some(a), Some(b)) if same(&a, &b).is_some() => Ok(Vec::new()),
                _ => self.refuse(at, args),
            },
            ("mad", [to, a, b, base]) => {
                self.free_of(at, &args[1..3], MisuseKind::Computed)?;
                let wide = ["mad.wide.s32", "mad.wide.u32", "mad.wide.s16", "mad.wide.u16"];
                let is_narrow = step.is(&wide) && matches!(b, Arg::Number(n) if small(*n));
                if !step.is(&wide) && !step.is(&["mad.lo.s64", "mad.lo.u64"]) {
                    return self.refuse(at, args);
                }
                let pointer = value(base).map(|pointer| pointer.with_offset(is_narrow));
                self.assign(at, to, pointer, a)
            }
            ("selp", [to, a, b, choice]) if step.is(&["selp.b64", "selp.u64", "selp.s64"]) => {
                self.free_of(at, std::slice::from_ref(choice), MisuseKind::Computed)?;
                let mut chosen = value(a).unwrap_or_default();
                chosen.join(&value(b).unwrap_or_default());
                self.assign(at, to, Some(chosen).filter(|chosen| !chosen.to.is_empty()), choice)
            }
            // Every module variable is in the same space.
            ("isspacep", [_, Arg::Name(_)]) => Ok(Vec::new()),
            ("setp", _) => self.compare(at, step),
            ("ld" | "ldu", [to, from, rest @ ..]) => self.load(at, step, to, from, rest),
            ("prefetch" | "prefetchu", [Arg::Address(..)]) => Ok(Vec::new()),
            ("wmma", [_, from, rest @ ..]) if step.has("load") => {
                self.free_of(at, rest, MisuseKind::Computed)?;
                self.data(at, from)
            }
            ("cp", [to, from, rest @ ..])
                if step.has("async") && (step.has("ca") || step.has("cg")) =>
            {
                self.free_of(at, std::slice::from_ref(to), MisuseKind::Written)?;
                self.free_of(at, rest, MisuseKind::Computed)?;
                self.data(at, from)
            }
            ("st", [to, values @ ..]) => self.store(at, step, to, values),
            ("atom" | "red" | "multimem" | "cp" | "discard" | "applypriority", _) => {
                let variable = self.any(at, args).unwrap_or_default();
                Err((variable, MisuseKind::Written))
            }
            ("call", _) => self.call(at, args),
            // Here the first operand is the result and nothing else.
            (head, [_, sources @ ..]) if RESULT_FIRST.contains(&head) => {
                self.free_of(at, sources, MisuseKind::Computed)?;
                Ok(Vec::new())
            }
            _ => self.refuse(at, args),
        }
    }

    fn refuse(&self, at: usize, args: &[Arg]) -> StepResult {
        Err((self.any(at, args).unwrap_or_default(), MisuseKind::Computed))
    }

    /// Puts an address into a register, where `other` must be no address.
    fn assign(&self, at: usize, to: &Arg, pointer: Option<Pointer>, other: &Arg) -> StepResult {
        match (to, pointer) {
            (Arg::Name(Entity::Register(register)), Some(pointer)) => {
                Ok(vec![(Target::Register(*register), pointer)])
            }
            // The address was in the target alone.
            (Arg::Name(Entity::Register(_)), None)
                if self.any(at, std::slice::from_ref(other)).is_none() =>
            {
                Ok(Vec::new())
            }
            (_, pointer) => {
                let variable = pointer.and_then(|pointer| pointer.to.first().copied());
                let named = || self.any(at, std::slice::from_ref(to));
                Err((variable.or_else(named).unwrap_or_default(), MisuseKind::Computed))
            }
        }
    }

    /// A comparison reveals nothing of an address when both sides are addresses in one variable, or
    /// when one is null.
    fn compare(&self, at: usize, step: &Step<'_>) -> StepResult {
        if let [_, a, b, ..] = &step.args[..] {
            let is_equality = step.has("eq") || step.has("ne");
            let fine = match (self.value(at, a), self.value(at, b)) {
                (Some(a), Some(b)) => {
                    same(&a, &b).is_some() && (is_equality || !a.is_wide && !b.is_wide)
                }
                (Some(_), None) => is_equality && *b == Arg::Number(0),
                (None, Some(_)) => is_equality && *a == Arg::Number(0),
                (None, None) => true,
            };
            if fine && step.bits() == 64 && self.any(at, &step.args[3..]).is_none() {
                return Ok(Vec::new());
            }
        }
        Err((self.any(at, &step.args).unwrap_or_default(), MisuseKind::Compared))
    }

    fn load(&self, at: usize, step: &Step<'_>, to: &Arg, from: &Arg, rest: &[Arg]) -> StepResult {
        self.free_of(at, rest, MisuseKind::Computed)?;
        let Arg::Address(base, offset) = from else { return self.refuse(at, &step.args) };
        let targets = to.parts();
        let mut out = Vec::new();
        if let Entity::Param(param) = base {
            let bytes = step.bits() / 8;
            for (index, target) in targets.iter().enumerate() {
                let start = offset + bytes * index as i64;
                for (place, pointer) in &self.params[*param] {
                    if start == *place && bytes == 8 {
                        out.append(&mut self.assign(
                            at,
                            target,
                            Some(pointer.clone()),
                            from_none(),
                        )?);
                    } else if start < place + 8 && *place < start + bytes.max(1) {
                        let variable = pointer.to.first().copied().unwrap_or_default();
                        return Err((variable, MisuseKind::Computed));
                    }
                }
            }
            return Ok(out);
        }
        let Some(pointer) = self.entity(at, *base) else { return Ok(Vec::new()) };
        let held = pointer.to.iter().flat_map(|variable| &self.module.pointees[*variable]);
        let held = Pointer { to: held.copied().collect(), is_wide: false };
        let Some(first) = held.to.first() else { return Ok(Vec::new()) };
        if step.bits() != 64 {
            return Err((*first, MisuseKind::Stored));
        }
        for target in targets {
            out.append(&mut self.assign(at, target, Some(held.clone()), from_none())?);
        }
        Ok(out)
    }

    /// A load of data that may be anything but addresses.
    fn data(&self, at: usize, from: &Arg) -> StepResult {
        let Arg::Address(base, _) = from else {
            return self.refuse(at, std::slice::from_ref(from));
        };
        let pointer = self.entity(at, *base).unwrap_or_default();
        let held = pointer.to.iter().flat_map(|variable| &self.module.pointees[*variable]);
        held.copied().next().map_or_else(|| Ok(Vec::new()), |held| Err((held, MisuseKind::Stored)))
    }

    fn store(&self, at: usize, step: &Step<'_>, to: &Arg, values: &[Arg]) -> StepResult {
        if let (Arg::Address(Entity::Param(param), offset), [value]) = (to, values) {
            let mut out = Vec::new();
            for (index, part) in value.parts().iter().enumerate() {
                let Some(pointer) = self.value(at, part) else { continue };
                if step.bits() != 64 {
                    return Err((
                        pointer.to.first().copied().unwrap_or_default(),
                        MisuseKind::Computed,
                    ));
                }
                out.push((Target::Param(*param, offset + 8 * index as i64), pointer));
            }
            return Ok(out);
        }
        self.free_of(at, std::slice::from_ref(to), MisuseKind::Written)?;
        self.free_of(at, values, MisuseKind::Stored)?;
        Ok(Vec::new())
    }

    /// Passes parameters to the function that is called, and its results back.
    fn call(&self, at: usize, args: &[Arg]) -> StepResult {
        let (returns, rest) = match args {
            [Arg::Many(returns), rest @ ..] => (&returns[..], rest),
            rest => (&[][..], rest),
        };
        let [Arg::Name(callee), rest @ ..] = rest else {
            self.free_of(at, args, MisuseKind::Passed)?;
            return Ok(Vec::new());
        };
        let passed = match rest {
            [Arg::Many(passed), ..] => &passed[..],
            _ => &[][..],
        };
        let callee = match callee {
            Entity::Function(callee) => &self.module.bodies[*callee],
            Entity::Reader => return Ok(Vec::new()),
            _ => {
                self.free_of(at, args, MisuseKind::Passed)?;
                return Ok(Vec::new());
            }
        };
        let mut out = self.copy(at, passed, &callee.params)?;
        for (from, to) in callee.returns.iter().zip(returns) {
            for (offset, pointer) in &self.params[*from] {
                let Arg::Name(Entity::Param(to)) = to else {
                    return Err((
                        pointer.to.first().copied().unwrap_or_default(),
                        MisuseKind::Passed,
                    ));
                };
                out.push((Target::Param(*to, *offset), pointer.clone()));
            }
        }
        Ok(out)
    }

    fn copy(&self, at: usize, passed: &[Arg], params: &[usize]) -> StepResult {
        let mut out = Vec::new();
        for (index, arg) in passed.iter().enumerate() {
            if let (Arg::Name(Entity::Param(from)), Some(to)) = (arg, params.get(index)) {
                let held = self.params[*from].iter();
                out.extend(
                    held.map(|(offset, pointer)| (Target::Param(*to, *offset), pointer.clone())),
                );
            } else {
                self.free_of(at, std::slice::from_ref(arg), MisuseKind::Passed)?;
            }
        }
        Ok(out)
    }
}

/// Stands for an operand that holds no address.
const fn from_none() -> &'static Arg {
    &Arg::Number(0)
}

/// The variable that both are addresses in, if it is one alone.
fn same(a: &Pointer, b: &Pointer) -> Option<Variable> {
    (a.to.len() == 1 && a.to == b.to).then(|| a.to.first().copied())?
}

const fn small(number: i64) -> bool {
    number.unsigned_abs() < 1 << 12
}

fn is_narrow(arg: &Arg, narrow: &[bool]) -> bool {
    match arg {
        Arg::Number(number) => small(*number),
        Arg::Name(Entity::Register(register)) => narrow.get(*register).copied().unwrap_or(false),
        _ => false,
    }
}

/// Finds the registers that hold products of 32-bit numbers and small ones, whatever sets them.
fn narrow_registers(body: &Body<'_>) -> Vec<bool> {
    let mut narrow = vec![true; body.registers];
    loop {
        let mut changed = false;
        for step in &body.steps {
            let (Some(to), sources) = (step.args.first(), step.args.get(1..).unwrap_or_default())
            else {
                continue;
            };
            if widens(step, sources, &narrow) {
                continue;
            }
            for entity in to.entities() {
                if let Entity::Register(register) = entity {
                    changed |= std::mem::replace(&mut narrow[register], false);
                }
            }
        }
        if !changed {
            return narrow;
        }
    }
}

/// Whether an instruction's result is a narrow offset.
fn widens(step: &Step<'_>, sources: &[Arg], narrow: &[bool]) -> bool {
    let parts: Vec<&str> = step.opcode.split('.').collect();
    match (&parts[..], sources) {
        (["mul", "wide", _], [_, Arg::Number(factor)]) => small(*factor),
        (["cvt", "s64" | "u64", from], [_]) => !from.ends_with("64"),
        (["shl", "b64"], [a, Arg::Number(bits)]) => (0..5).contains(bits) && is_narrow(a, narrow),
        (["and", "b64"], [_, Arg::Number(mask)]) => (0..1 << NARROW_BITS).contains(mask),
        (["mov", _], [a]) => is_narrow(a, narrow),
        // Stores, branches and barriers name no result first.
        (["st" | "bra" | "bar" | "barrier" | "red" | "ret" | "exit" | "setp", ..], _) => true,
        _ => false,
    }
}

//! Resolves names by the scopes they are declared in.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    DebugLocation, Facts, ModuleVariable, READERS, addresses,
    args::{Arg, Body, Entity, Resolved, Step},
    module_variables,
};
use crate::ast::{Function, Operand, Ptx, Registers, Space, Statement};

/// Special registers; a name of this kind means the special register whatever is declared.
const SPECIAL: [&str; 16] = [
    "tid",
    "ntid",
    "laneid",
    "warpid",
    "nwarpid",
    "ctaid",
    "nctaid",
    "smid",
    "nsmid",
    "gridid",
    "clusterid",
    "nclusterid",
    "clock",
    "clock_hi",
    "clock64",
    "is_explicit_cluster",
];

/// How the names of further special registers begin.
const SPECIAL_PREFIXES: [&str; 8] = [
    "cluster_",
    "lanemask_",
    "globaltimer",
    "envreg",
    "total_smem",
    "dynamic_smem",
    "aggr_smem",
    "reserved_smem",
];

/// Opcodes of accesses to textures and surfaces.
const TEXTURES: [&str; 7] = ["tex", "tld4", "txq", "istypep", "suld", "sust", "sured"];

fn is_special(name: &str) -> bool {
    let Some(name) = name.strip_prefix('%') else { return false };
    let is_counter = name.strip_prefix("pm").is_some_and(|rest| rest.starts_with(char::is_numeric));
    SPECIAL.contains(&name)
        || is_counter
        || SPECIAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Resolves the names of a module; its variables, registers and special registers become facts.
pub(super) fn resolve<'a>(tree: &Ptx<'a>, facts: &mut Facts) -> Resolved<'a> {
    let mut resolved = Resolved::default();
    let mut known: BTreeMap<&'a str, Entity> = BTreeMap::new();
    for variable in module_variables(tree) {
        let bytes = variable.bytes.max(variable.init.len() * variable.element_bytes as usize);
        facts.variables.push(ModuleVariable {
            name: variable.name.to_owned(),
            bytes,
            is_extern: variable.is_extern,
        });
        known.insert(variable.name, Entity::Module(resolved.variables.len()));
        resolved.variables.push(variable.name);
    }
    // Variables of functions may share a name, and so their contents.
    let held = |name: &str| -> BTreeSet<usize> {
        module_variables(tree)
            .filter(|variable| variable.name == name)
            .flat_map(addresses)
            .filter_map(|name| match known.get(name) {
                Some(Entity::Module(held)) => Some(*held),
                _ => None,
            })
            .collect()
    };
    let has_addresses = module_variables(tree).any(|variable| addresses(variable).next().is_some());
    let pointees = resolved.variables.iter().map(|name| match has_addresses {
        true => held(name).into_iter().collect(),
        false => Vec::new(),
    });
    resolved.pointees = pointees.collect();
    known.extend(READERS.map(|name| (name, Entity::Reader)));
    let defined: Vec<&Function<'a>> =
        tree.functions.iter().filter(|function| function.body.is_some()).collect();
    known.extend(defined.iter().enumerate().map(|(at, f)| (f.name, Entity::Function(at))));
    for function in defined {
        let mut reader = Reader { module: &known, params: &mut resolved.params, facts };
        let body = reader.body(function);
        resolved.bodies.push(body);
    }
    resolved
}

/// Names declared in one pair of braces.
#[derive(Default)]
struct Scope<'a> {
    names: BTreeMap<&'a str, Entity>,
    /// `%r<10>`: the name before the number, and how many there are.
    ranges: Vec<(&'a str, u32)>,
    /// Registers of ranges, once they are named.
    numbered: BTreeMap<&'a str, usize>,
}

struct Reader<'r, 'a> {
    module: &'r BTreeMap<&'a str, Entity>,
    params: &'r mut usize,
    facts: &'r mut Facts,
}

impl<'a> Reader<'_, 'a> {
    fn body(&mut self, function: &Function<'a>) -> Body<'a> {
        let mut body = Body::default();
        let mut outer = Scope::default();
        let mut formal = |variables: &[crate::ast::Variable<'a>]| -> Vec<usize> {
            let declare = |variable: &crate::ast::Variable<'a>| {
                *self.params += 1;
                outer.names.insert(variable.name, Entity::Param(*self.params - 1));
                *self.params - 1
            };
            variables.iter().map(declare).collect()
        };
        body.returns = formal(&function.returns);
        body.params = formal(&function.params);
        let mut scopes = vec![outer, Scope::default()];
        let mut place = None;
        for statement in function.body.iter().flatten() {
            match statement {
                Statement::Open => scopes.push(Scope::default()),
                Statement::Close => {
                    scopes.pop();
                }
                Statement::Loc(at, inlined) => {
                    let inlined_at = inlined.map(|(file, line, _)| (file, line));
                    place = Some(DebugLocation { at: (at.0, at.1), inlined_at });
                }
                Statement::Instruction(instruction) => {
                    let operation = instruction.opcode.split('.').next().unwrap_or_default();
                    if TEXTURES.contains(&operation) {
                        self.facts.textures.push((operation.to_owned(), place));
                    }
                    let bulk = instruction.opcode.starts_with("cp.reduce")
                        && instruction.opcode.contains(".bulk_group");
                    self.facts.global_atomics |= bulk
                        || matches!(operation, "atom" | "red")
                            && !instruction.opcode.contains(".shared");
                    let operands = instruction.operands.iter();
                    let args =
                        operands.map(|operand| self.arg(operand, &mut scopes, &mut body, place));
                    let args: Vec<Arg> = args.collect();
                    body.steps.push(Step { opcode: instruction.opcode, args, place });
                }
                other => self.declare(other, &mut scopes, &mut body),
            }
        }
        body
    }

    fn declare(
        &mut self,
        statement: &Statement<'a>,
        scopes: &mut [Scope<'a>],
        body: &mut Body<'a>,
    ) {
        let Some(scope) = scopes.last_mut() else { return };
        match statement {
            Statement::Reg(Registers { name, count: Some(count), lanes, .. }) => {
                self.facts.registers += u64::from(*count) * u64::from(*lanes);
                scope.ranges.push((name, *count));
            }
            Statement::Reg(Registers { name, count: None, lanes, .. }) => {
                self.facts.registers += u64::from(*lanes);
                scope.names.insert(name, Entity::Register(body.registers));
                body.registers += 1;
            }
            Statement::Variable(variable) => {
                let entity = match variable.space {
                    Space::Param => {
                        *self.params += 1;
                        Entity::Param(*self.params - 1)
                    }
                    Space::Global | Space::Const => match self.module.get(variable.name) {
                        Some(entity) => *entity,
                        None => Entity::Other,
                    },
                    Space::Shared | Space::Local | Space::Register => Entity::Other,
                };
                scope.names.insert(variable.name, entity);
            }
            Statement::Label(_)
            | Statement::BranchTargets(..)
            | Statement::Open
            | Statement::Close
            | Statement::Loc(..)
            | Statement::Instruction(_) => {}
        }
    }

    fn arg(
        &mut self,
        operand: &Operand<'a>,
        scopes: &mut [Scope<'a>],
        body: &mut Body<'a>,
        place: Option<DebugLocation>,
    ) -> Arg {
        let mut name = |name: &'a str| self.entity(name, scopes, body, place);
        match operand {
            Operand::Name(n) | Operand::Not(n) | Operand::Offset(n, _) | Operand::Lane(n, _) => {
                Arg::Name(name(n))
            }
            Operand::Int(bits) => Arg::Number(bits.cast_signed()),
            Operand::F32(_) | Operand::F64(_) | Operand::Address(None, _) => Arg::Number(i64::MAX),
            Operand::Address(Some(base), offset) => Arg::Address(name(base), *offset),
            Operand::Vector(parts) | Operand::List(parts) => {
                Arg::Many(parts.iter().map(|part| self.arg(part, scopes, body, place)).collect())
            }
            Operand::Pair(a, b) => {
                let parts = [a, b].map(|part| self.arg(part, scopes, body, place));
                Arg::Many(parts.into())
            }
        }
    }

    fn entity(
        &mut self,
        name: &'a str,
        scopes: &mut [Scope<'a>],
        body: &mut Body<'a>,
        place: Option<DebugLocation>,
    ) -> Entity {
        let whole = name.split('.').next().unwrap_or(name);
        if is_special(whole) {
            self.special(whole, place);
            return Entity::Other;
        }
        // `%r1.x` is a part of a register.
        let found = local(name, scopes, body).or_else(|| local(whole, scopes, body));
        if let Some(entity) = found.or_else(|| self.module.get(name).copied()) {
            return entity;
        }
        if whole.starts_with('%') {
            self.special(whole, place);
        }
        Entity::Other
    }

    fn special(&mut self, name: &str, place: Option<DebugLocation>) {
        self.facts.special_registers.entry(name.to_owned()).or_default().push(place);
    }
}

/// Looks a name up from the innermost scope outwards.
fn local<'a>(name: &'a str, scopes: &mut [Scope<'a>], body: &mut Body<'a>) -> Option<Entity> {
    scopes.iter_mut().rev().find_map(|scope| {
        if let Some(entity) = scope.names.get(name) {
            return Some(*entity);
        }
        let declared = scope.ranges.iter().any(|(prefix, count)| {
            let number = name.strip_prefix(prefix).and_then(|rest| rest.parse::<u32>().ok());
            number.is_some_and(|number| number < *count)
        });
        declared.then(|| {
            let next = scope.numbered.entry(name).or_insert_with(|| {
                body.registers += 1;
                body.registers - 1
            });
            Entity::Register(*next)
        })
    })
}

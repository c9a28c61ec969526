//! Static facts of compiled kernels: how their launches fit the device, and the make-up of their
//! machine code.

use kgen_compile::Compiler;
use kgen_measure::occupancy::{self, Multiprocessor, Occupancy};
use kgen_profile::sass::SassMix;
use kgen_record::{CaseClass, EvalRequest, LaunchFacts, Resources, Step, Target};

use super::{CaseProgram, Program, builder::describe_args};

/// Launches of one kernel that are kept.
const MAX_LAUNCHES: usize = 3;

/// Adds to each kernel its launches in cases that are no secret: of each kind of block the one with
/// the largest grid.
///
/// `built`: the resources of the kernels of each variant.
pub(super) fn add_launches(
    request: &EvalRequest,
    program: &Program,
    built: &[&[Resources]],
    resources: &mut [Resources],
) {
    let sm = multiprocessor(&request.target);
    for case in known_cases(request, program) {
        for step in &case.plan.steps {
            let Step::Launch { kernel, grid, block, smem, .. } = step else { continue };
            let of_variant = built.get(case.variant).copied().unwrap_or_default();
            let compiled = of_variant.iter().find(|compiled| compiled.kernel == *kernel);
            let known = resources.iter_mut().find(|known| known.kernel == *kernel);
            let (Some(compiled), Some(known)) = (compiled, known) else { continue };
            let facts = facts(sm.as_ref(), compiled, *grid, *block, *smem);
            let args = || describe_args(&request.cases[case.case]);
            keep_largest(&mut known.launches, facts, args);
        }
    }
    for kernel in resources {
        kernel.launches.sort_by_key(|launch| std::cmp::Reverse(blocks(launch.grid)));
        kernel.launches.truncate(MAX_LAUNCHES);
    }
}

/// Machine code to be counted.
pub(super) struct MachineCode {
    cubin: Vec<u8>,
    /// Names in the plan and in the module.
    kernels: Vec<(String, String)>,
}

impl MachineCode {
    /// Takes the variant of the largest launch.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let largest = |case: &&CaseProgram| -> u64 { launched(case).map(|(_, _, n)| n).sum() };
        let case = program.cases.iter().max_by_key(largest)?;
        let names = launched(case).map(|(kernel, entry, _)| (kernel.to_owned(), entry.to_owned()));
        let cubin = program.variants.get(case.variant)?.cubin.clone();
        Some(Self { cubin, kernels: names.collect() })
    }

    /// Counts it, each kernel under its name in the plan; empty without a disassembler.
    pub(super) fn count(&self, compiler: &Compiler) -> Vec<SassMix> {
        let mixes = compiler.disassemble(&self.cubin).unwrap_or_default();
        let named = mixes.into_iter().filter_map(|mix| {
            let (kernel, _) = self.kernels.iter().find(|(_, entry)| *entry == mix.kernel)?;
            Some(SassMix { kernel: kernel.clone(), ..mix })
        });
        named.collect()
    }
}

/// Adds to each kernel its code.
pub(super) fn add_code(mixes: Vec<SassMix>, resources: &mut [Resources]) {
    for mix in mixes {
        if let Some(known) = resources.iter_mut().find(|known| known.kernel == mix.kernel) {
            known.sass = Some(mix);
        }
    }
}

/// Returns the name in the plan, the name in the module and the blocks of each launch of a case.
fn launched(case: &CaseProgram) -> impl Iterator<Item = (&str, &str, u64)> {
    case.plan.steps.iter().zip(&case.bound).filter_map(|(step, bound)| match (step, bound) {
        (Step::Launch { kernel, grid, .. }, Some(bound)) => {
            Some((kernel.as_str(), bound.entry.as_str(), blocks(*grid)))
        }
        _ => None,
    })
}

/// Returns the programs of the cases whose shapes may be shown.
fn known_cases<'a>(
    request: &EvalRequest,
    program: &'a Program,
) -> impl Iterator<Item = &'a CaseProgram> {
    let is_known = |case: &&CaseProgram| request.cases[case.case].class != CaseClass::Drawn;
    program.cases.iter().filter(is_known)
}

fn keep_largest(
    launches: &mut Vec<LaunchFacts>,
    facts: LaunchFacts,
    args: impl FnOnce() -> String,
) {
    let alike = |known: &&mut LaunchFacts| {
        known.block == facts.block
            && known.smem_bytes == facts.smem_bytes
            && known.registers == facts.registers
    };
    match launches.iter_mut().find(alike) {
        Some(known) if blocks(facts.grid) <= blocks(known.grid) => {}
        Some(known) => *known = LaunchFacts { args: args(), ..facts },
        None => launches.push(LaunchFacts { args: args(), ..facts }),
    }
}

fn facts(
    sm: Option<&Multiprocessor>,
    compiled: &Resources,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic: u32,
) -> LaunchFacts {
    let needs = needs(compiled, block, dynamic);
    let smem_bytes = needs.shared_bytes;
    let occupancy = sm.and_then(|sm| Occupancy::of(sm, &needs));
    let waves = sm.zip(occupancy).and_then(|(sm, fits)| fits.waves(sm, blocks(grid)));
    let registers = compiled.registers;
    LaunchFacts { args: String::new(), grid, block, registers, smem_bytes, occupancy, waves }
}

/// Returns the needs of a block of a launch; `dynamic`: bytes of dynamic shared memory.
pub(super) fn needs(compiled: &Resources, block: [u32; 3], dynamic: u32) -> occupancy::Resources {
    occupancy::Resources {
        block_threads: block.iter().product(),
        registers: compiled.registers,
        shared_bytes: compiled.smem_bytes.saturating_add(dynamic),
    }
}

pub(super) fn blocks(grid: [u32; 3]) -> u64 {
    grid.iter().map(|&n| u64::from(n)).product()
}

/// Returns the limits of the target's multiprocessors; `None` for architectures that are not known.
///
/// Source: table "Technical Specifications per Compute Capability" of the CUDA C++ Programming
/// Guide.
pub(super) fn multiprocessor(target: &Target) -> Option<Multiprocessor> {
    let capability = (target.cc_major, target.cc_minor);
    let (max_threads, max_blocks, reserved) = match capability {
        (7, 0 | 2) => (2048, 32, 0),
        (7, 5) => (1024, 16, 0),
        (8, 0) => (2048, 32, 1024),
        (8, 6 | 7) => (1536, 16, 1024),
        (8, 9) | (12, 0 | 1) => (1536, 24, 1024),
        (9, 0) | (10, 0 | 3) => (2048, 32, 1024),
        _ => return None,
    };
    Some(Multiprocessor {
        compute_capability: capability,
        count: target.sm_count,
        max_threads,
        max_blocks,
        registers: 65_536,
        shared_bytes: target.smem_max + reserved,
        reserved_shared_bytes: reserved,
        max_shared_bytes_per_block: target.smem_max,
        max_threads_per_block: 1024,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoundLaunch, Variant};
    use kgen_record::{LaunchAttributes, ResolvedPlan};

    fn launch(grid: u32, block: u32, registers: u32) -> LaunchFacts {
        let sm = multiprocessor(&Target::h100_class());
        let compiled = Resources { registers, smem_bytes: 128, ..Resources::default() };
        facts(sm.as_ref(), &compiled, [grid, 1, 1], [block, 1, 1], 0)
    }

    #[test]
    fn the_arithmetic_is_what_ncu_shows_on_an_h200() {
        // softmax_rows: 26 registers, 256 threads, 4096 blocks, 128 bytes: 8 blocks, 3.88 waves.
        let softmax = launch(4096, 256, 26);
        let occupancy = softmax.occupancy.unwrap();
        assert_eq!(occupancy.blocks_per_sm, 8);
        assert!((occupancy.fraction - 1.0).abs() < 1e-12);
        assert!((softmax.waves.unwrap().count - 3.88).abs() < 0.005);
        let heavy = launch(4096, 256, 96);
        assert!(heavy.occupancy.unwrap().fraction < 0.5);
    }

    #[test]
    fn the_largest_grid_of_each_kind_of_block_is_kept() {
        let mut kept = Vec::new();
        for (grid, block, args) in [(4, 256, "a"), (9, 256, "b"), (7, 256, "c"), (1, 128, "d")] {
            keep_largest(&mut kept, launch(grid, block, 26), || args.to_owned());
        }
        let names: Vec<&str> = kept.iter().map(|launch| launch.args.as_str()).collect();
        assert_eq!(names, ["b", "d"]);
    }

    #[test]
    fn an_unknown_architecture_has_no_occupancy() {
        let target = Target { cc_major: 99, ..Target::h100_class() };
        assert!(multiprocessor(&target).is_none());
        let compiled = Resources { registers: 20, ..Resources::default() };
        let facts = facts(None, &compiled, [2, 1, 1], [32, 1, 1], 0);
        assert!(facts.occupancy.is_none() && facts.waves.is_none());
    }

    #[test]
    fn code_is_that_of_the_largest_launch_under_the_names_of_the_plan() {
        let case = |variant: usize, grid: u32| {
            let launch = Step::Launch {
                kernel: "relu".to_owned(),
                grid: [grid, 1, 1],
                block: [32, 1, 1],
                smem: 0,
                args: Vec::new(),
                line: 1,
                attributes: LaunchAttributes::default(),
            };
            let plan = ResolvedPlan { steps: vec![launch], ..ResolvedPlan::default() };
            let bound = BoundLaunch { entry: format!("relu_{variant}"), args: Vec::new() };
            CaseProgram { case: 0, variant, plan, bound: vec![Some(bound)] }
        };
        let variant = |byte: u8| Variant {
            types: Vec::new(),
            defines: Vec::new(),
            cubin: vec![byte],
            ptx: String::new(),
        };
        let program = Program {
            variants: vec![variant(1), variant(2)],
            cases: vec![case(0, 4), case(1, 9), case(0, 7)],
            ..Program::without_code(0)
        };
        let code = MachineCode::of(&program).unwrap();
        assert_eq!(code.cubin, [2]);
        assert_eq!(code.kernels, [("relu".to_owned(), "relu_1".to_owned())]);
        assert!(MachineCode::of(&Program::without_code(3)).is_none());

        let mut resources = ["other", "relu"]
            .map(|kernel| Resources { kernel: kernel.to_owned(), ..Resources::default() });
        let mix = SassMix { kernel: "relu".to_owned(), n_instructions: 5, ..SassMix::default() };
        add_code(vec![mix.clone()], &mut resources);
        assert_eq!((&resources[0].sass, &resources[1].sass), (&None, &Some(mix)));
    }
}

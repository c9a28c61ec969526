//! A bench before its results: cases, implementations, and how they are judged and timed.

use std::collections::BTreeMap;

use kgen_agent::fresh_seed;
use kgen_bench::{Axis, FORMAT};
use kgen_measure::Fingerprint;
use kgen_record::{
    Case, CaseClass, EvalRequest, Implementation, Profile, SideBySide, Target, TimingRequest,
};
use kgen_settings::Settings;
use serde::{Deserialize, Serialize};

use super::{
    GridArgs, bench_id,
    grid::{self, GridOp},
    implementations::{self, Named},
};
use crate::cli::{CommandError, Context, exit_codes::Exit, machine::Machine, run_inputs};

/// Cells beyond which a bench is begun only where it is asked for twice.
const MANY_CELLS: u64 = 100_000;

/// Seconds per cell for estimates: an op of a million elements, judged and timed by `screen` on an H200.
const SECONDS_PER_CELL: [(Profile, f64); 3] =
    [(Profile::Screen, 0.35), (Profile::Standard, 1.5), (Profile::Final, 15.0)];

/// Seconds that a comparison of two implementations in one case may take in `screen`: a grid has many cases.
const SCREEN_S: f64 = 0.15;

/// A bench as the command line asks for it.
pub(super) struct Draft {
    pub(super) id: String,
    pub(super) axes: Vec<Axis>,
    pub(super) ops: Vec<GridOp>,
    pub(super) implementations: Vec<Named>,
    seconds_per_cell: f64,
}

/// A bench as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BenchPlan {
    pub(super) format: u32,
    pub(super) id: String,
    /// RFC 3339.
    pub(super) created: String,
    pub(super) kgen_version: String,
    /// Name of the GPU, or of the emulated one.
    pub(super) device: String,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) axes: Vec<Axis>,
    pub(super) implementations: Vec<String>,
    pub(super) ops: Vec<PlannedOp>,
    /// The request of every evaluation, without op, candidate and cases.
    pub(super) request: EvalRequest,
}

/// An op with its cases and, by the order of the implementations, their kernels.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlannedOp {
    pub(super) op: String,
    pub(super) definition: Option<String>,
    pub(super) cases: Vec<PlannedCase>,
    pub(super) kernels: Vec<Option<Implementation>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PlannedCase {
    pub(super) case: Case,
    /// Its place in the grid.
    pub(super) axes: BTreeMap<String, i64>,
    /// Its arguments by the names of the axes, where the grid is a suite's.
    #[serde(default)]
    pub(super) call: Option<String>,
}

impl Draft {
    /// Reads the flags; builds no case of a grid.
    pub(super) fn new(
        context: &Context,
        settings: &Settings,
        args: &GridArgs,
    ) -> Result<Self, CommandError> {
        let id = bench_id(args.bench_id.as_deref())?;
        let (axes, ops) = grid::read(context, settings, args)?;
        let asked = args.implementations.as_deref();
        let implementations = implementations::resolve(context, settings, asked, ops.len())?;
        let row = SECONDS_PER_CELL.into_iter().find(|(of, _)| *of == settings.timing.profile);
        let seconds_per_cell = row.map_or(0.0, |(_, seconds)| seconds) + args.energy.unwrap_or(0.0);
        Ok(Self { id, axes, ops, implementations, seconds_per_cell })
    }

    pub(super) fn n_cells(&self) -> u64 {
        let cases = self.ops.iter().map(GridOp::n_cases).fold(0, u64::saturating_add);
        cases.saturating_mul(self.implementations.len() as u64)
    }

    /// Returns how long it may take, in seconds, on a GPU.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn estimate_s(&self) -> f64 {
        self.n_cells() as f64 * self.seconds_per_cell
    }

    /// Makes sure that so many cells are meant.
    pub(super) fn refuse_many(&self, yes: bool) -> Result<(), CommandError> {
        let n_cells = self.n_cells();
        if n_cells <= MANY_CELLS || yes {
            return Ok(());
        }
        let message = format!(
            "{n_cells} cells: on a GPU they take some {}",
            super::output::span(self.estimate_s())
        );
        Err(CommandError::usage(message)
            .hint("--yes begins it; --dry-run shows the cells of each op; --max-time limits it"))
    }

    /// Builds the cases and finds the kernels, for a machine.
    pub(super) fn plan(
        &self,
        settings: &Settings,
        machine: &Machine,
        energy_s: Option<f64>,
    ) -> Result<BenchPlan, CommandError> {
        let pool = &machine.pool;
        let on_gpu = pool.has_gpu();
        let mut ops = Vec::new();
        for of in &self.ops {
            let kernels: Result<Vec<_>, CommandError> =
                self.implementations.iter().map(|named| named.of(&of.op)).collect();
            let mut cases = of.cases()?;
            if !on_gpu {
                // The emulator runs no case of a real size; how large it may be is the emulator's business.
                cases.iter_mut().for_each(|planned| planned.case.class = CaseClass::Edge);
            }
            let (op, definition) = (of.op.name.clone(), of.op.definition.clone());
            ops.push(PlannedOp { op, definition, cases, kernels: kernels? });
        }
        let session = pool.gpus().first().and_then(|gpu| gpu.session.as_ref());
        Ok(BenchPlan {
            format: FORMAT,
            id: self.id.clone(),
            created: jiff::Timestamp::now().to_string(),
            kgen_version: env!("CARGO_PKG_VERSION").to_owned(),
            device: pool.target().name.clone(),
            fingerprint: session.map(|session| session.fingerprint.clone()),
            axes: self.axes.clone(),
            implementations: self.implementations.iter().map(|named| named.name.clone()).collect(),
            ops,
            request: request(settings, machine, energy_s)?,
        })
    }
}

/// Returns the request that all evaluations share.
fn request(
    settings: &Settings,
    machine: &Machine,
    energy_s: Option<f64>,
) -> Result<EvalRequest, CommandError> {
    let seed = match settings.run.seed {
        Some(seed) => seed,
        None => fresh_seed().map_err(|error| CommandError::new(Exit::Device, error))?,
    };
    let of = &settings.timing;
    let timing = (machine.pool.has_gpu() && of.enabled).then(|| TimingRequest {
        baselines: Vec::new(),
        profile: of.profile,
        l2: of.l2,
        graph: of.graph,
        do_bench: false,
        max_s: of.max_s.or((of.profile == Profile::Screen).then_some(SCREEN_S)),
        side_by_side: Some(SideBySide { energy_s }),
    });
    let request = run_inputs::request_of(settings, seed, &machine.pool);
    Ok(EvalRequest { timing, count_code: false, ..request })
}

impl BenchPlan {
    /// Makes sure that a machine is the one that the bench was begun on.
    pub(super) fn check_device(&self, target: &Target) -> Result<(), CommandError> {
        if self.device == target.name {
            return Ok(());
        }
        Err(CommandError::new(
            Exit::Device,
            std::io::Error::other(format!(
                "the bench {} was begun on {}, and this is {}",
                self.id, self.device, target.name
            )),
        )
        .hint("times of different devices are not put beside each other: begin another bench"))
    }

    pub(super) fn n_cells(&self) -> u64 {
        let cases: usize = self.ops.iter().map(|op| op.cases.len()).sum();
        (cases * self.implementations.len()) as u64
    }
}

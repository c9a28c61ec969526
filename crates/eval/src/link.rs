//! Compile variants, and launches bound to them.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use kgen_compile::{CompileError, CompileJob, Compiler, guard_ptx};
use kgen_kernel::KernelFile;
use kgen_record::{
    DType, Finding, Level, ResolvedPlan, Resources, Signature, Stage, Step, Verdict,
};

use super::{
    BoundLaunch, CaseProgram, Program, Variant,
    builder::{EarlyVerdict, failed},
    cooperative,
    error::BuildError,
    prepare::{Source, copy_kernel},
};

/// Compilations of one evaluation at once: each takes some hundred megabytes.
const MAX_COMPILATIONS: usize = 8;

/// A case's plan with the key of its compile variant.
pub(super) struct Planned {
    /// The case's index in the request.
    pub(super) case: usize,
    /// Type macros.
    pub(super) types: Vec<(String, DType)>,
    pub(super) plan: ResolvedPlan,
    /// Whether it is a choice of parameters to be timed.
    pub(super) tuning: bool,
}

impl Planned {
    /// Returns whether kgen's copy kernel is needed.
    pub(super) fn copies(&self) -> bool {
        self.plan.steps.iter().any(|step| matches!(step, Step::Copy { .. }))
    }
}

/// A launch that does not fit its kernel, or the device.
struct UnboundLaunch {
    verdict: Verdict,
    finding: Finding,
}

/// Everything that a compilation depends on, besides the source.
#[derive(PartialEq)]
struct VariantKey {
    types: Vec<(String, DType)>,
    defines: Vec<(String, String)>,
}

/// The type macros of one dtype with the plan's macros that go with them.
type VariantCount<'a> = (&'a [(String, DType)], Vec<&'a [(String, String)]>);

/// A compiled variant with the parts that binding needs.
struct Compiled {
    variant: Variant,
    signatures: Vec<Signature>,
    entries: Vec<String>,
    resources: Vec<Resources>,
    diagnostics: Vec<kgen_record::Diagnostic>,
}

/// All variants, each with its key.
type Variants = (Vec<VariantKey>, Vec<Compiled>);

/// Compiles variants on demand and binds launches to them.
pub(super) struct Linker<'a> {
    source: Source<'a>,
    file: KernelFile,
    compiler: &'a Compiler,
    keys: Vec<VariantKey>,
    built: Vec<Compiled>,
}

impl<'a> Linker<'a> {
    /// Returns one that has compiled nothing.
    pub(super) const fn new(source: Source<'a>, file: KernelFile, compiler: &'a Compiler) -> Self {
        Self { source, file, compiler, keys: Vec::new(), built: Vec::new() }
    }

    pub(super) const fn source(&self) -> &Source<'a> {
        &self.source
    }

    pub(super) const fn file(&self) -> &KernelFile {
        &self.file
    }

    pub(super) const fn compiler(&self) -> &'a Compiler {
        self.compiler
    }

    /// Counts the variants that were compiled.
    pub(super) const fn n_variants(&self) -> usize {
        self.built.len()
    }

    /// Returns a variant that was compiled.
    pub(super) fn variant(&self, index: usize) -> &Variant {
        &self.built[index].variant
    }

    /// Compiles all that the plans need and binds their launches; `enter` is called before each
    /// compilation.
    pub(super) fn link(
        &mut self,
        plans: Vec<Planned>,
        enter: &mut dyn FnMut(Stage),
    ) -> Result<Program, BuildError> {
        self.allow_variants(&plans)?;
        let needs_copy = plans.iter().any(Planned::copies);
        let this = &*self;
        let (all, copy) = thread::scope(|scope| {
            let copy = || copy_kernel(this.source.target, this.compiler);
            let copy = needs_copy.then(|| scope.spawn(copy));
            let all = this.build_all(&plans, enter);
            if all.is_ok() {
                enter(Stage::Link);
            }
            let copy = copy.map(|copy| copy.join().unwrap_or_else(|panic| resume_unwind(panic)));
            (all, copy)
        });
        (self.keys, self.built) = all?;
        let mut program = Program { copy: copy.transpose()?, ..Program::without_code(0) };
        for planned in plans {
            let variant = self.position(&planned.types, &planned.plan.defines);
            let bound =
                self.bind(&planned, variant).map_err(|error| self.unbound(&planned, *error))?;
            let entry = CaseProgram { case: planned.case, variant, plan: planned.plan, bound };
            if planned.tuning {
                program.tunings.push(entry);
            } else {
                program.cases.push(entry);
            }
        }
        program.variants = self.built.iter().map(|built| built.variant.clone()).collect();
        Ok(program)
    }

    /// Returns the verdict on a file whose launch does not fit its kernel.
    fn unbound(&self, planned: &Planned, error: UnboundLaunch) -> EarlyVerdict {
        let case = &self.source.cases[planned.case];
        let UnboundLaunch { verdict, finding } = error;
        let result = failed(case, verdict, Level::Static, finding.clone());
        EarlyVerdict {
            diagnostics: self.warnings(),
            resources: self.worst_resources(),
            cases: vec![(planned.case, result)],
            ..EarlyVerdict::new(verdict, finding)
        }
    }

    /// Binds the plan of one more case; `None` where it needs a variant that may not be compiled.
    ///
    /// `compiles` is called before a compilation; without it there is none.
    pub(super) fn add(
        &mut self,
        planned: Planned,
        compiles: Option<&mut dyn FnMut()>,
    ) -> Result<Option<CaseProgram>, BuildError> {
        let kernels = kernels_of(std::iter::once(&planned));
        let key =
            VariantKey { types: planned.types.clone(), defines: planned.plan.defines.clone() };
        let has_all = |built: &Compiled| {
            let has =
                |kernel: &String| built.signatures.iter().any(|known| known.kernel == *kernel);
            kernels.iter().all(has)
        };
        let mut known = self.keys.iter().zip(&self.built);
        let variant = match known.position(|(other, built)| *other == key && has_all(built)) {
            Some(variant) => variant,
            None => {
                let Some(begins) = compiles.filter(|_| !self.is_full(&key)) else {
                    return Ok(None);
                };
                begins();
                let built = self.build(&key, &kernels)?;
                self.keys.push(key);
                self.built.push(built);
                self.built.len() - 1
            }
        };
        let bound = self
            .bind(&planned, variant)
            .map_err(|error| EarlyVerdict::new(error.verdict, error.finding))?;
        Ok(Some(CaseProgram { case: planned.case, variant, plan: planned.plan, bound }))
    }

    /// Returns whether the element types of a variant have as many others as are allowed.
    fn is_full(&self, key: &VariantKey) -> bool {
        let others = self.keys.iter().filter(|known| known.types == key.types && *known != key);
        self.source.max_variants as usize <= others.count()
    }

    /// Rejects a file of which correctness alone needs more variants of one dtype than allowed.
    fn allow_variants(&self, plans: &[Planned]) -> Result<(), EarlyVerdict> {
        let mut per_types: Vec<VariantCount<'_>> = Vec::new();
        for planned in plans.iter().filter(|planned| !planned.tuning) {
            let position = per_types.iter().position(|(types, _)| *types == planned.types);
            let position = position.unwrap_or_else(|| {
                per_types.push((&planned.types, Vec::new()));
                per_types.len() - 1
            });
            let defines = &mut per_types[position].1;
            if !defines.contains(&planned.plan.defines.as_slice()) {
                defines.push(&planned.plan.defines);
            }
        }
        let most = per_types.iter().map(|(_, defines)| defines.len()).max().unwrap_or(0);
        let allowed = self.source.max_variants as usize;
        if most <= allowed {
            return Ok(());
        }
        let mut finding = Finding::new(format!(
            "the plan's define() values need {most} compile variants for one dtype; at most \
             {allowed} are allowed"
        ));
        finding.hint =
            Some("pass sizes as kernel arguments and define only a few constants".to_owned());
        Err(EarlyVerdict::new(Verdict::PlanError, finding))
    }

    fn position(&self, types: &[(String, DType)], defines: &[(String, String)]) -> usize {
        let found = self.keys.iter().position(|key| key.types == types && key.defines == defines);
        found.expect("every planned variant was built before it is looked up")
    }

    /// Compiles every variant that the plans need: the first alone, since a wrong kernel mostly is
    /// so in all of them, the others at once.
    fn build_all(
        &self,
        plans: &[Planned],
        enter: &mut dyn FnMut(Stage),
    ) -> Result<Variants, BuildError> {
        let mut jobs: Vec<(VariantKey, Vec<String>)> = Vec::new();
        for planned in plans {
            let defines = &planned.plan.defines;
            if jobs.iter().any(|(key, _)| key.types == planned.types && key.defines == *defines) {
                continue;
            }
            let same = plans
                .iter()
                .filter(|other| other.types == planned.types && other.plan.defines == *defines);
            let key = VariantKey { types: planned.types.clone(), defines: defines.clone() };
            jobs.push((key, kernels_of(same)));
        }
        let (first, rest) = jobs.split_at(jobs.len().min(1));
        let mut built = Vec::with_capacity(jobs.len());
        for (key, kernels) in first {
            enter(Stage::Compile);
            built.push(self.build(key, kernels)?);
        }
        built.extend(self.build_rest(rest, enter)?);
        Ok((jobs.into_iter().map(|(key, _)| key).collect(), built))
    }

    /// Compiles variants on the machine's cores; returns them in order.
    fn build_rest(
        &self,
        jobs: &[(VariantKey, Vec<String>)],
        enter: &mut dyn FnMut(Stage),
    ) -> Result<Vec<Compiled>, BuildError> {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        let mut built: Vec<_> = jobs.iter().map(|_| None).collect();
        let n_cores = thread::available_parallelism().map_or(1, NonZero::get);
        let n_threads = n_cores.min(MAX_COMPILATIONS).min(jobs.len());
        thread::scope(|scope| {
            for sender in vec![sender; n_threads] {
                let next = &next;
                scope.spawn(move || {
                    while let Some((index, (key, kernels))) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        jobs.get(index).map(|job| (index, job))
                    } {
                        let done = (index, self.build(key, kernels));
                        if sender.send(done).is_err() {
                            return;
                        }
                    }
                });
            }
            // Each compilation has its own deadline, which the parent sets by this message.
            enter(Stage::Compile);
            while let Ok((index, variant)) = receiver.recv() {
                enter(Stage::Compile);
                built[index] = Some(variant);
            }
        });
        built.into_iter().map(|variant| variant.expect("every job was done")).collect()
    }

    fn build(&self, key: &VariantKey, kernels: &[String]) -> Result<Compiled, BuildError> {
        let compiled = match self.compiler.compile(&CompileJob {
            source: self.file.text(),
            defines: &key.defines,
            types: &key.types,
            kernels,
            arch: &self.source.target.arch,
        }) {
            Ok(compiled) => compiled,
            Err(CompileError::Failed(diagnostics)) => {
                let finding =
                    Finding::new(format!("NVRTC refuses the kernel with {}", key.describe()));
                let rejected = EarlyVerdict::new(Verdict::CompileError, finding);
                return Err(EarlyVerdict { diagnostics, ..rejected }.into());
            }
            Err(CompileError::Machine(error)) => return Err(error.into()),
        };
        guard_ptx(&compiled).map_err(|finding| EarlyVerdict::new(Verdict::Rejected, *finding))?;
        Ok(Compiled {
            variant: Variant {
                types: key.types.clone(),
                defines: key.defines.clone(),
                cubin: compiled.cubin,
                ptx: compiled.ptx,
            },
            signatures: compiled.signatures,
            entries: compiled.entries,
            resources: compiled.resources,
            diagnostics: compiled.diagnostics,
        })
    }

    /// Binds the arguments of every launch to the compiled kernels.
    fn bind(
        &self,
        planned: &Planned,
        variant: usize,
    ) -> Result<Vec<Option<BoundLaunch>>, Box<UnboundLaunch>> {
        let built = &self.built[variant];
        let mut bound = Vec::with_capacity(planned.plan.steps.len());
        for step in &planned.plan.steps {
            let Step::Launch { kernel, args, line, .. } = step else {
                bound.push(None);
                continue;
            };
            let at_line = |verdict: Verdict, mut finding: Finding| {
                finding.span = Some(self.file.span(*line, 0));
                Box::new(UnboundLaunch { verdict, finding })
            };
            let misfit = |message: String| at_line(Verdict::PlanError, Finding::new(message));
            let known = built.signatures.iter().zip(&built.entries);
            let found = known.into_iter().find(|(signature, _)| &signature.kernel == kernel);
            let (signature, entry) =
                found.ok_or_else(|| misfit(format!("there is no kernel `{kernel}`")))?;
            let args =
                kgen_kernel::bind(args, signature).map_err(|error| misfit(error.to_string()))?;
            if let Some(compiled) = built.resources.iter().find(|of| &of.kernel == kernel) {
                cooperative::check(step, compiled, self.source.target)
                    .map_err(|finding| at_line(Verdict::LaunchError, *finding))?;
            }
            bound.push(Some(BoundLaunch { entry: entry.clone(), args }));
        }
        Ok(bound)
    }

    /// Returns the resources of every kernel of every variant.
    pub(super) fn resources(&self) -> Vec<&[Resources]> {
        self.built.iter().map(|built| built.resources.as_slice()).collect()
    }

    /// Returns the largest figures of each kernel over its variants.
    pub(super) fn worst_resources(&self) -> Vec<Resources> {
        let mut worst: Vec<Resources> = Vec::new();
        for resources in self.built.iter().flat_map(|built| &built.resources) {
            match worst.iter_mut().find(|known| known.kernel == resources.kernel) {
                None => worst.push(resources.clone()),
                Some(known) => {
                    known.registers = known.registers.max(resources.registers);
                    known.spill_stores = known.spill_stores.max(resources.spill_stores);
                    known.spill_loads = known.spill_loads.max(resources.spill_loads);
                    known.stack_bytes = known.stack_bytes.max(resources.stack_bytes);
                    known.smem_bytes = known.smem_bytes.max(resources.smem_bytes);
                }
            }
        }
        worst
    }

    /// Returns the distinct messages of all compilations.
    pub(super) fn warnings(&self) -> Vec<kgen_record::Diagnostic> {
        let mut all = Vec::new();
        for diagnostic in self.built.iter().flat_map(|built| &built.diagnostics) {
            if !all.contains(diagnostic) {
                all.push(diagnostic.clone());
            }
        }
        all
    }
}

impl VariantKey {
    /// Returns the macros in words, for example `T_self=f32 T_out=f32 VEC=4`.
    fn describe(&self) -> String {
        let types = self.types.iter().map(|(name, dtype)| format!("{name}={}", dtype.cuda_type()));
        let defines = self.defines.iter().map(|(name, value)| format!("{name}={value}"));
        types.chain(defines).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the names of all kernels that some of these plans launch.
fn kernels_of<'a>(plans: impl Iterator<Item = &'a Planned>) -> Vec<String> {
    let mut kernels: Vec<String> = Vec::new();
    for step in plans.flat_map(|planned| &planned.plan.steps) {
        if let Step::Launch { kernel, .. } = step
            && !kernels.contains(kernel)
        {
            kernels.push(kernel.clone());
        }
    }
    kernels
}

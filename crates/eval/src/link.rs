//! Compile variants, and launches bound to them.

use std::{
    panic::resume_unwind,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use kgen_compile::{CompileError, Compiler, Job, guard_ptx};
use kgen_kernel::KernelFile;
use kgen_record::{
    DType, EvalRequest, Finding, Level, ResolvedPlan, Resources, Signature, Stage, Step, Verdict,
};

use super::{
    BoundLaunch, CaseProgram, Error, Program, Variant,
    builder::{EarlyVerdict, EvaluationBuilder, failed},
    prepare::copy_kernel,
};

/// A case's plan with what its compile variant depends on.
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
    /// Tells whether kgen's copy kernel is needed.
    pub(super) fn copies(&self) -> bool {
        self.plan.steps.iter().any(|step| matches!(step, Step::Copy { .. }))
    }
}

/// Everything that a compilation depends on, besides the source.
#[derive(PartialEq)]
struct VariantKey {
    types: Vec<(String, DType)>,
    defines: Vec<(String, String)>,
}

/// The type macros of one dtype with the plan's macros that go with them.
type VariantCount<'a> = (&'a [(String, DType)], Vec<&'a [(String, String)]>);

/// A compiled variant with what binding needs.
struct Built {
    variant: Variant,
    signatures: Vec<Signature>,
    entries: Vec<String>,
    resources: Vec<Resources>,
    diagnostics: Vec<kgen_record::Diagnostic>,
}

/// All variants, each with its key.
type Variants = (Vec<VariantKey>, Vec<Built>);

/// Compiles variants on demand and binds launches to them.
pub(super) struct Linker<'a> {
    request: &'a EvalRequest,
    file: KernelFile,
    compiler: &'a Compiler,
    keys: Vec<VariantKey>,
    built: Vec<Built>,
}

impl<'a> Linker<'a> {
    /// Returns one that has compiled nothing.
    pub(super) const fn new(
        request: &'a EvalRequest,
        file: KernelFile,
        compiler: &'a Compiler,
    ) -> Self {
        Self { request, file, compiler, keys: Vec::new(), built: Vec::new() }
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

    /// Compiles all that the plans need and binds their launches.
    pub(super) fn link(
        &mut self,
        plans: Vec<Planned>,
        draft: &mut EvaluationBuilder<'_>,
    ) -> Result<Result<Program, EarlyVerdict>, Error> {
        if let Some(halt) = self.too_many_variants(&plans) {
            return Ok(Err(halt));
        }
        let needs_copy = plans.iter().any(Planned::copies);
        let this = &*self;
        let (all, copy) = thread::scope(|scope| {
            let copy = || copy_kernel(this.request, this.compiler);
            let copy = needs_copy.then(|| scope.spawn(copy));
            let all = this.build_all(&plans, draft);
            if matches!(all, Ok(Ok(_))) {
                draft.enter(Stage::Link);
            }
            let copy = copy.map(|copy| copy.join().unwrap_or_else(|panic| resume_unwind(panic)));
            (all, copy)
        });
        match all? {
            Ok((keys, built)) => (self.keys, self.built) = (keys, built),
            Err(halt) => return Ok(Err(halt)),
        }
        let copy = copy.transpose()?;
        let mut program = Program {
            variants: Vec::new(),
            cases: Vec::new(),
            tunings: Vec::new(),
            copy,
            baselines: Vec::new(),
            full_size: None,
            refused: Vec::new(),
            reference: None,
        };
        for planned in plans {
            let case = &self.request.cases[planned.case];
            let variant = self.position(&planned.types, &planned.plan.defines);
            match self.bind(&planned, variant) {
                Ok(bound) => {
                    let entry =
                        CaseProgram { case: planned.case, variant, plan: planned.plan, bound };
                    if planned.tuning {
                        program.tunings.push(entry);
                    } else {
                        program.cases.push(entry);
                    }
                }
                Err(finding) => {
                    let result = failed(case, Verdict::PlanError, Level::Static, *finding.clone());
                    draft.case_done(planned.case, result);
                    return Ok(Err(EarlyVerdict::new(Verdict::PlanError, *finding)));
                }
            }
        }
        program.variants = self.built.iter().map(|built| built.variant.clone()).collect();
        Ok(Ok(program))
    }

    /// Binds the plan of one more case; `None` where it needs a variant that may not be compiled.
    ///
    /// `compiles` is called before a compilation; without it there is none.
    pub(super) fn add(
        &mut self,
        planned: Planned,
        compiles: Option<&mut dyn FnMut()>,
    ) -> Result<Option<Result<CaseProgram, EarlyVerdict>>, Error> {
        let kernels = kernels_of(std::iter::once(&planned));
        let key =
            VariantKey { types: planned.types.clone(), defines: planned.plan.defines.clone() };
        let has_all = |built: &Built| {
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
                match self.build(&key, &kernels)? {
                    Ok(built) => {
                        self.keys.push(key);
                        self.built.push(built);
                        self.built.len() - 1
                    }
                    Err(halt) => return Ok(Some(Err(halt))),
                }
            }
        };
        Ok(Some(match self.bind(&planned, variant) {
            Ok(bound) => Ok(CaseProgram { case: planned.case, variant, plan: planned.plan, bound }),
            Err(finding) => Err(EarlyVerdict::new(Verdict::PlanError, *finding)),
        }))
    }

    /// Tells whether the element types of a variant have as many others as are allowed.
    fn is_full(&self, key: &VariantKey) -> bool {
        let others = self.keys.iter().filter(|known| known.types == key.types && *known != key);
        self.request.limits.max_variants as usize <= others.count()
    }

    /// Complains where correctness alone needs more variants of one dtype than allowed.
    fn too_many_variants(&self, plans: &[Planned]) -> Option<EarlyVerdict> {
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
        let most = per_types.iter().map(|(_, defines)| defines.len()).max()?;
        let allowed = self.request.limits.max_variants as usize;
        if most <= allowed {
            return None;
        }
        let mut finding = Finding::new(format!(
            "the plan's define() values need {most} compile variants for one dtype; at most \
             {allowed} are allowed"
        ));
        finding.hint =
            Some("pass sizes as kernel arguments and define only a few constants".to_owned());
        Some(EarlyVerdict::new(Verdict::PlanError, finding))
    }

    fn position(&self, types: &[(String, DType)], defines: &[(String, String)]) -> usize {
        let found = self.keys.iter().position(|key| key.types == types && key.defines == defines);
        found.expect("every planned variant was built before it is looked up")
    }

    /// Compiles every variant that the plans need: the first alone, since a wrong kernel mostly is
    /// so in all of them, the others on two threads.
    fn build_all(
        &self,
        plans: &[Planned],
        draft: &mut EvaluationBuilder<'_>,
    ) -> Result<Result<Variants, EarlyVerdict>, Error> {
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
        let mut built: Vec<Result<Built, EarlyVerdict>> = Vec::with_capacity(jobs.len());
        for (key, kernels) in first {
            draft.enter(Stage::Compile);
            match self.build(key, kernels)? {
                Ok(variant) => built.push(Ok(variant)),
                Err(halt) => return Ok(Err(halt)),
            }
        }
        built.extend(self.build_rest(rest, draft)?);
        let built: Result<Vec<Built>, EarlyVerdict> = built.into_iter().collect();
        let keys = jobs.into_iter().map(|(key, _)| key).collect();
        Ok(built.map(|built| (keys, built)))
    }

    /// Compiles variants on two threads; returns them in order.
    fn build_rest(
        &self,
        jobs: &[(VariantKey, Vec<String>)],
        draft: &mut EvaluationBuilder<'_>,
    ) -> Result<Vec<Result<Built, EarlyVerdict>>, Error> {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        let mut built: Vec<_> = jobs.iter().map(|_| None).collect();
        thread::scope(|scope| {
            for sender in [sender.clone(), sender].into_iter().take(jobs.len()) {
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
            draft.enter(Stage::Compile);
            while let Ok((index, variant)) = receiver.recv() {
                draft.enter(Stage::Compile);
                built[index] = Some(variant);
            }
        });
        built.into_iter().map(|variant| variant.expect("every job was done")).collect()
    }

    fn build(
        &self,
        key: &VariantKey,
        kernels: &[String],
    ) -> Result<Result<Built, EarlyVerdict>, Error> {
        let compiled = match self.compiler.compile(&Job {
            source: self.file.text(),
            defines: &key.defines,
            types: &key.types,
            kernels,
            arch: &self.request.target.arch,
        }) {
            Ok(compiled) => compiled,
            Err(CompileError::Failed(diagnostics)) => {
                let finding =
                    Finding::new(format!("NVRTC refuses the kernel with {}", key.describe()));
                let findings = vec![finding];
                return Ok(Err(EarlyVerdict {
                    verdict: Verdict::CompileError,
                    findings,
                    diagnostics,
                }));
            }
            Err(CompileError::Machine(error)) => return Err(error.into()),
        };
        if let Err(finding) = guard_ptx(&compiled) {
            return Ok(Err(EarlyVerdict::new(Verdict::Rejected, *finding)));
        }
        Ok(Ok(Built {
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
        }))
    }

    /// Binds the arguments of every launch to the compiled kernels.
    fn bind(
        &self,
        planned: &Planned,
        variant: usize,
    ) -> Result<Vec<Option<BoundLaunch>>, Box<Finding>> {
        let built = &self.built[variant];
        let mut bound = Vec::with_capacity(planned.plan.steps.len());
        for step in &planned.plan.steps {
            let Step::Launch { kernel, args, line, .. } = step else {
                bound.push(None);
                continue;
            };
            let at_line = |message: String| {
                let mut finding = Finding::new(message);
                finding.span = Some(self.file.span(*line, 0));
                Box::new(finding)
            };
            let known = built.signatures.iter().zip(&built.entries);
            let found = known.into_iter().find(|(signature, _)| &signature.kernel == kernel);
            let (signature, entry) =
                found.ok_or_else(|| at_line(format!("there is no kernel `{kernel}`")))?;
            let args =
                kgen_kernel::bind(args, signature).map_err(|error| at_line(error.to_string()))?;
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

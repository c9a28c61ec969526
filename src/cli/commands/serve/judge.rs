//! The workers of this machine as the judge of the service.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use kgen_agent::{RunInputs, fresh_seed};
use kgen_llm::Turn;
use kgen_ops::{
    op::{self, OpDef},
    suite::{self, Suite},
};
use kgen_prompt::Situation;
use kgen_record::{DType, EvalRequest, Precision};
use kgen_serve::{
    ApiError, ErrorKind, EvaluateRequest, Facts, Failure, FailureKind, JobLevel, Judge, Judged,
    OpEntry, Problem, ProblemEntry, Prompt, PromptQuery, Spec,
};
use kgen_settings::{DeviceSettings, Settings};
use kgen_worker::Pool;

use crate::cli::{CommandError, run_inputs, selection::Selection};

/// Op files that requests may name.
pub(super) type Problems = BTreeMap<String, String>;

/// Judges on the workers of this machine.
pub(super) struct PoolJudge {
    settings: Settings,
    pool: Arc<Pool>,
    facts: Facts,
    problems: Problems,
    allow_python: bool,
}

impl PoolJudge {
    pub(super) fn new(
        settings: Settings,
        pool: Arc<Pool>,
        problems: Problems,
        allow_python: bool,
    ) -> Self {
        let split = pool.split();
        let facts = Facts {
            kgen_version: env!("CARGO_PKG_VERSION").to_owned(),
            device: pool.target().name.clone(),
            workers: (split.cpu_workers + split.gpu_workers) as usize,
            identity: identity(&settings, &pool),
        };
        Self { settings, pool, facts, problems, allow_python }
    }

    /// Returns the text of an op file, checked.
    fn definition(&self, problem: &Problem) -> Result<(Arc<OpDef>, String), ApiError> {
        let (text, field) = match (&problem.definition, &problem.name) {
            (Some(text), _) => (text, "problem.definition"),
            (None, name) => {
                let name = name.as_deref().unwrap_or_default();
                let missing = || {
                    let near = kgen_ops::nearest(name, self.problems.keys().map(String::as_str));
                    ApiError::new(
                        ErrorKind::UnknownProblem,
                        format!("there is no problem `{name}`"),
                    )
                    .field("problem.name")
                    .hint(near.map(|name| format!("did you mean `{name}`?")))
                };
                (self.problems.get(name).ok_or_else(missing)?, "problem.name")
            }
        };
        let invalid = |error: String| ApiError::new(ErrorKind::InvalidProblem, error).field(field);
        let op = op::custom(text).map_err(|error| invalid(error.to_string()))?;
        if !self.allow_python && (op.python_reference.is_some() || op.module.is_some()) {
            let text = "the problem has code in Python, which this server does not run";
            return Err(ApiError::new(ErrorKind::PythonNotAllowed, text).field(field));
        }
        Ok((op, text.clone()))
    }

    /// Returns the suite that an op of the catalogue is judged with.
    fn suite(&self, name: Option<&str>) -> Result<Suite, ApiError> {
        if let Some(name) = name.filter(|name| !suite::builtin_names().contains(name)) {
            let near = kgen_ops::nearest(name, suite::builtin_names());
            let text = format!("there is no suite `{name}`");
            return Err(ApiError::new(ErrorKind::UnknownSuite, text)
                .field("suite")
                .hint(near.map(|name| format!("did you mean `{name}`?"))));
        }
        let name = name.unwrap_or(&self.settings.suite.suite);
        suite::load(name).map_err(|error| ApiError::new(ErrorKind::Internal, error.to_string()))
    }

    /// Returns an op with the suite of its cases.
    fn selection(&self, spec: &Spec) -> Result<(Settings, Selection), ApiError> {
        let suite = match &spec.definition {
            Some(text) => {
                let op = op::custom(text).map_err(invalid_problem)?;
                suite::of_op(op, "the request")
                    .and_then(suite::Loaded::strict)
                    .map_err(invalid_problem)?
            }
            None => self.suite(spec.suite.as_deref())?,
        };
        let op = suite.op(&spec.op).map_err(|error| no_cases(error.to_string(), "op"))?;
        let op = Arc::clone(op);
        let mut settings = self.settings.clone();
        settings.suite.dtypes.clone_from(&spec.dtypes);
        settings.suite.precision = spec.precision;
        let dtypes = spec.dtypes.clone();
        Ok((settings, Selection { suite, ops: vec![op], dtypes, n_without_kernel: 0 }))
    }

    fn request(&self, spec: &Spec) -> Result<(EvalRequest, Settings), CommandError> {
        let of_op = |error: ApiError| CommandError::config(error.text);
        let (settings, selection) = self.selection(spec).map_err(of_op)?;
        let op = &selection.ops[0];
        let seed = match spec.seed {
            Some(seed) => seed,
            None => fresh_seed().map_err(|error| CommandError::config(error.to_string()))?,
        };
        let cases = selection.suite.cases(&op.name, selection.dtypes(), seed)?;
        let inputs = run_inputs::inputs(
            &settings,
            &selection,
            self.pool.target(),
            self.pool.has_gpu(),
            None,
        )?;
        let timing = inputs.timing(&op.name).filter(|_| spec.level == JobLevel::Time);
        let source = spec.source.clone();
        let request = EvalRequest {
            timing,
            compile_only: spec.level == JobLevel::Compile,
            // nvdisasm takes half a second for each kernel, more than all else of a small one.
            count_code: false,
            ..run_inputs::request(&settings, op, source, cases, seed, &self.pool)
        };
        Ok((request, settings))
    }

    async fn judge(&self, spec: Spec) -> Result<Judged, Failure> {
        let made = tokio::task::block_in_place(|| self.request(&spec));
        let (request, settings) = made
            .map_err(|error| Failure { kind: FailureKind::Op, text: error.source.to_string() })?;
        let evaluated = Box::pin(self.pool.evaluate_across(request, &|_| {})).await;
        let evaluation = evaluated
            .map_err(|error| Failure { kind: kind_of(&error), text: error.to_string() })?;
        let feedback = kgen_prompt::feedback(&evaluation, &spec.source, settings.feedback.kinds);
        Ok(Judged { evaluation, feedback })
    }
}

impl Judge for PoolJudge {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn resolve(&self, request: &EvaluateRequest) -> Result<Spec, ApiError> {
        if request.level == JobLevel::Time && !self.pool.has_gpu() {
            let text = "nothing is timed without a GPU";
            return Err(ApiError::new(ErrorKind::NoGpu, text).field("level"));
        }
        let (op, definition) = match (&request.op, &request.problem) {
            (_, Some(problem)) => {
                let (op, text) = self.definition(problem)?;
                (op, Some(text))
            }
            (Some(name), None) => (known_op(name)?, None),
            (None, None) => {
                let text = "one of `op` and `problem` is needed";
                return Err(ApiError::new(ErrorKind::InvalidRequest, text).field("op"));
            }
        };
        let asked = request.dtypes.as_ref().unwrap_or(&self.settings.suite.dtypes);
        let mut dtypes: Vec<DType> = asked.clone();
        dtypes.sort_unstable_by_key(|dtype| dtype.name());
        dtypes.dedup();
        let suite = request.suite.clone().unwrap_or_else(|| self.settings.suite.suite.clone());
        let mut spec = Spec {
            op: op.name.clone(),
            suite: definition.is_none().then_some(suite),
            definition,
            source: request.source.clone(),
            level: request.level,
            dtypes,
            precision: request.precision.unwrap_or(self.settings.suite.precision),
            seed: request.seed,
        };
        let (_, selection) = tokio::task::block_in_place(|| self.selection(&spec))?;
        let has = selection.suite.dtypes(&spec.op).unwrap_or_default();
        if !spec.dtypes.is_empty() {
            spec.dtypes.retain(|dtype| has.contains(dtype));
            if spec.dtypes.is_empty() {
                let text = format!("op `{}` has no cases in these types", spec.op);
                return Err(no_cases(text, "dtypes"));
            }
        }
        // All of them are the default.
        if spec.dtypes.len() == has.len() {
            spec.dtypes.clear();
        }
        Ok(spec)
    }

    fn evaluate(&self, spec: Spec) -> BoxFuture<'_, Result<Judged, Failure>> {
        self.judge(spec).boxed()
    }

    fn ops(&self) -> Vec<OpEntry> {
        let entry = |op: &Arc<OpDef>| OpEntry {
            name: op.name.clone(),
            overload: op.schema.clone(),
            signature: op.signature.clone(),
            aliases: op.aliases.clone(),
        };
        op::all().iter().map(entry).collect()
    }

    fn problems(&self) -> Vec<ProblemEntry> {
        let entry = |(name, text): (&String, &String)| {
            let op = op::custom(text).ok()?;
            Some(ProblemEntry { name: name.clone(), op: op.name.clone() })
        };
        self.problems.iter().filter_map(entry).collect()
    }

    fn prompt(&self, query: &PromptQuery) -> Result<Prompt, ApiError> {
        let mut dtypes = Vec::new();
        for name in &query.dtypes {
            let dtype = DType::ALL.iter().find(|dtype| dtype.name() == name);
            let unknown = || {
                let text = format!("there is no type `{name}`");
                ApiError::new(ErrorKind::InvalidRequest, text).field("dtypes")
            };
            dtypes.push(*dtype.ok_or_else(unknown)?);
        }
        let (op, definition) = match self.problems.get(&query.op) {
            Some(text) => (op::custom(text).map_err(invalid_problem)?, Some(text.clone())),
            None => (known_op(&query.op)?, None),
        };
        let spec = Spec {
            op: op.name.clone(),
            suite: None,
            definition,
            source: String::new(),
            level: JobLevel::default(),
            dtypes,
            precision: self.settings.suite.precision,
            seed: None,
        };
        let internal = |text: String| ApiError::new(ErrorKind::Internal, text);
        let (settings, selection) = self.selection(&spec)?;
        let can_time = self.pool.has_gpu();
        let inputs = run_inputs::inputs(&settings, &selection, self.pool.target(), can_time, None)
            .map_err(|error| internal(error.source.to_string()))?;
        let prompt = inputs
            .prompt(&spec.op, &Situation::first(Turn::Code))
            .map_err(|error| internal(error.to_string()))?;
        let text = format!("{}\n\n{}\n", prompt.system.trim_end(), prompt.user.trim_end());
        Ok(Prompt { op: spec.op, prompt: text })
    }
}

fn known_op(name: &str) -> Result<Arc<OpDef>, ApiError> {
    op::find(name)
        .cloned()
        .map_err(|error| ApiError::new(ErrorKind::UnknownOp, error.to_string()).field("op"))
}

fn no_cases(text: String, field: &str) -> ApiError {
    ApiError::new(ErrorKind::NoCases, text).field(field)
}

fn invalid_problem(error: impl std::fmt::Display) -> ApiError {
    ApiError::new(ErrorKind::InvalidProblem, error.to_string()).field("problem")
}

const fn kind_of(error: &kgen_worker::Error) -> FailureKind {
    match error {
        kgen_worker::Error::Op { .. } => FailureKind::Op,
        kgen_worker::Error::Lost { .. } => FailureKind::Lost,
        kgen_worker::Error::Quarantined { .. }
        | kgen_worker::Error::NoGpu
        | kgen_worker::Error::NoNode { .. } => FailureKind::Device,
        kgen_worker::Error::Start { .. }
        | kgen_worker::Error::Version { .. }
        | kgen_worker::Error::Judge { .. }
        | kgen_worker::Error::ShutDown
        | kgen_worker::Error::Scratch(_) => FailureKind::Worker,
    }
}

/// Returns everything about this server that decides results, as text.
fn identity(settings: &Settings, pool: &Pool) -> String {
    let Settings { device, timing, suite, limits, .. } = settings;
    // How many workers there are, and where, decides no result.
    let device = DeviceSettings {
        jobs: 0,
        launch: Vec::new(),
        launch_workers: 1,
        launch_wait_s: 0.0,
        ..device.clone()
    };
    let rules: (bool, bool, Option<usize>, Option<u64>, Precision) =
        (suite.libraries, suite.cutlass, suite.topn, suite.max_bytes, suite.precision);
    let settings = serde_json::json!([
        env!("CARGO_PKG_VERSION"),
        pool.target(),
        pool.nvrtc(),
        device,
        timing,
        limits,
        rules,
    ]);
    settings.to_string()
}

/// Reads the op files of a folder.
pub(super) fn read_problems(folder: Option<&Path>) -> Result<Problems, CommandError> {
    let Some(folder) = folder else { return Ok(Problems::new()) };
    let failed = |path: &Path, error: String| {
        CommandError::config(format!("failed to read problem {}: {error}", path.display()))
    };
    let entries = std::fs::read_dir(folder).map_err(|error| failed(folder, error.to_string()))?;
    let mut problems = Problems::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(folder, error.to_string()))?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        let text =
            std::fs::read_to_string(&path).map_err(|error| failed(&path, error.to_string()))?;
        op::custom(&text).map_err(|error| failed(&path, error.to_string()))?;
        problems.insert(name.to_owned(), text);
    }
    Ok(problems)
}

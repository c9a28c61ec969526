//! `kgen list`: the available choices.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use kgen_baseline::python;
use kgen_ops::{
    op::{self, OpDef},
    suite::{self, Suite},
};
use kgen_record::{DType, PythonKind, Target};
use kgen_settings::{Overrides, Settings};
use kgen_store::{Run, RunStatus, list_runs};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cli::{
        CommandError, Context,
        args::{FormatArgs, OutputArgs, PythonArgs},
        backends::Backend,
        exit_codes::Exit,
        providers,
        schemas::Output,
        selection,
        ui::Ui,
    },
    report::{MeanSpeedup, TextTable, mean_speedup_text, summarise},
};

/// List the ops, suites, runs, backends or devices there are
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Kind of things to list
    #[arg(value_enum, default_value_t, value_name = "KIND")]
    kind: Kind,
    /// Ops to list, by a name or a pattern such as 're*' (quoted, or the shell expands it)
    #[arg(value_name = "PATTERN")]
    pattern: Option<String>,
    /// Ops of this suite alone: a name, or the path of a suite file, a log, or a folder of logs
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,
    /// List the valid entries of a suite that has mistakes
    #[arg(long, requires = "suite")]
    keep_going: bool,
    /// File of an op of your own, in place of a suite
    #[arg(long, value_name = "FILE.toml", conflicts_with = "suite")]
    op_file: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    python: PythonArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// The kinds of things to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Kind {
    #[default]
    Ops,
    Suites,
    Runs,
    Backends,
    Devices,
}

/// A table in both of its forms.
struct Listing<T> {
    table: TextTable,
    items: Vec<T>,
}

impl<T> Listing<T>
where
    Vec<T>: Output,
{
    /// Returns an empty one; `yielding` are the columns that give way on a narrow screen.
    fn new(headers: &[&str], yielding: &[(&str, usize)]) -> Self {
        Self { table: TextTable::new(headers).yielding(yielding), items: Vec::new() }
    }

    fn add(&mut self, cells: Vec<String>, item: T) {
        self.table.row(cells);
        self.items.push(item);
    }

    fn print(&self, ui: &Ui) -> Result<(), CommandError> {
        ui.result(&self.items, || self.table.fit(ui.screen()))
    }
}

pub(crate) fn run(context: &Context, args: &ListArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    flags.set("suite.suite", args.suite.clone());
    flags.set("suite.keep_going", args.keep_going.then_some(true));
    flags.set("suite.op_file", args.op_file.clone());
    args.output.add_to(&mut flags);
    args.python.add_to(&mut flags);
    refuse_idle_flags(args, &flags)?;
    let settings = context.settings(&flags)?;
    let ui = &context.ui;
    match args.kind {
        Kind::Ops => {
            ops(context, &settings, args.suite.is_some(), args.pattern.as_deref())?.print(ui)?;
        }
        Kind::Suites => suites()?.print(ui)?,
        Kind::Runs => runs(&settings)?.print(ui)?,
        Kind::Backends => backends(context, &settings).print(ui)?,
        Kind::Devices => devices(context, &settings).print(ui)?,
    }
    Ok(Exit::Ok)
}

/// Refuses flags that say nothing about the kind of things to list.
fn refuse_idle_flags(args: &ListArgs, flags: &Overrides) -> Result<(), CommandError> {
    let allowed: &[&str] = match args.kind {
        Kind::Ops => &["suite", "keep-going", "op-file"],
        Kind::Runs => &["output-dir"],
        Kind::Backends => &["python"],
        Kind::Suites | Kind::Devices => &[],
    };
    let kind = args.kind.to_possible_value().map(|value| value.get_name().to_owned());
    let kind = kind.unwrap_or_default();
    if let Some(flag) = flags.flags().find(|flag| !allowed.contains(flag)) {
        let message = format!("--{flag} has no effect on `kgen list {kind}`");
        return Err(CommandError::usage(message));
    }
    match &args.pattern {
        Some(pattern) if args.kind != Kind::Ops => Err(CommandError::usage(format!(
            "`{pattern}`: only ops are listed by a pattern, as in `kgen list ops '{pattern}'`"
        ))),
        _ => Ok(()),
    }
}

/// An op of the catalogue or of a suite.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OpItem {
    op: String,
    /// The overload's name in PyTorch, for example `aten.add.Tensor`.
    overload: String,
    aliases: Vec<String>,
    family: &'static str,
    /// Whether the result has one right value, to the bit.
    exact: bool,
    /// Element types that a kernel may be asked for in.
    dtypes: Vec<DType>,
    /// Suites that have it.
    suites: Vec<String>,
    signature: String,
}

/// Lists all ops, or those of the suite asked for; of these, the ones that a pattern matches.
fn ops(
    context: &Context,
    settings: &Settings,
    in_suite: bool,
    pattern: Option<&str>,
) -> Result<Listing<OpItem>, CommandError> {
    let in_suite = in_suite || settings.suite.op_file.is_some();
    let asked = in_suite.then(|| selection::select(&context.ui, &settings.suite)).transpose()?;
    let asked = asked.map(|selection| selection.suite);
    let builtin: Vec<Suite> =
        suite::builtin_names().into_iter().map(selection::load).collect::<Result<_, _>>()?;
    let headers =
        ["op", "overload", "aliases", "family", "result", "dtypes", "suites", "signature"];
    let yielding = [
        ("signature", 40),
        ("dtypes", 0),
        ("overload", 0),
        ("aliases", 12),
        ("result", 0),
        ("signature", 24),
        ("aliases", 0),
        ("suites", 12),
        ("signature", 0),
    ];
    let mut listing = Listing::new(&headers, &yielding);
    let ops: Vec<&Arc<OpDef>> = match &asked {
        Some(suite) => suite.ops().iter().filter_map(|name| suite.op(name).ok()).collect(),
        None => op::all().iter().collect(),
    };
    let ops = match pattern {
        None => ops,
        Some(pattern) if selection::is_pattern(pattern) => {
            selection::matching(pattern, ops.into_iter(), "the catalogue")?
        }
        Some(name) => vec![match &asked {
            Some(suite) => selection::op_in(suite, name)?,
            None => selection::op_of_catalogue(name)?,
        }],
    };
    for op in ops {
        let suites = builtin
            .iter()
            .chain(&asked)
            .filter(|suite| suite.name != suite::DEFAULT && suite.ops().contains(&op.name));
        let mut suites: Vec<&str> = suites.map(|suite| suite.name.as_str()).collect();
        suites.dedup();
        let dtypes: Vec<&str> = op.dtypes.iter().map(|dtype| dtype.name()).collect();
        let result = if op.exact { "exact" } else { "rounded" };
        let joined = |names: &[&str]| match names {
            [] => "-".to_owned(),
            names => names.join(","),
        };
        let aliases: Vec<&str> = op.aliases.iter().map(String::as_str).collect();
        listing.add(
            vec![
                op.name.clone(),
                op.schema.clone(),
                joined(&aliases),
                op.family.name().to_owned(),
                result.to_owned(),
                joined(&dtypes),
                joined(&suites),
                op.signature.clone(),
            ],
            OpItem {
                op: op.name.clone(),
                overload: op.schema.clone(),
                aliases: op.aliases.clone(),
                family: op.family.name(),
                exact: op.exact,
                dtypes: op.dtypes.clone(),
                suites: suites.into_iter().map(str::to_owned).collect(),
                signature: op.signature.clone(),
            },
        );
    }
    Ok(listing)
}

/// A suite that comes with kgen.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SuiteItem {
    suite: String,
    /// Names of its ops.
    ops: Vec<String>,
    description: String,
}

fn suites() -> Result<Listing<SuiteItem>, CommandError> {
    let mut listing = Listing::new(&["suite", ">ops", "description"], &[("description", 24)]);
    for name in suite::builtin_names() {
        let suite = selection::load(name)?;
        listing.add(
            vec![name.to_owned(), suite.ops().len().to_string(), suite.description.clone()],
            SuiteItem {
                suite: name.to_owned(),
                ops: suite.ops().to_vec(),
                description: suite.description.clone(),
            },
        );
    }
    Ok(listing)
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunItem {
    /// Name of its folder.
    run: String,
    path: String,
    /// Absent where the run cannot be read.
    #[serde(flatten)]
    facts: Option<RunFacts>,
    /// Why it cannot be read; `null` where it can.
    error: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunFacts {
    /// When it was made, in UTC.
    created_at: String,
    /// Where its kernels come from.
    backend: String,
    device: String,
    /// Ops whose best attempt passed.
    passed: usize,
    /// Its ops.
    ops: usize,
    /// Means over the ops, one entry per baseline, the primary one first.
    speedups: Vec<MeanSpeedup>,
    status: RunStatus,
}

fn runs(settings: &Settings) -> Result<Listing<RunItem>, CommandError> {
    let headers = ["run", "made", "backend", "device", ">passed", "speedup", "status"];
    let yielding = [("made", 10), ("backend", 0), ("device", 0), ("speedup", 18), ("made", 0)];
    let mut listing = Listing::new(&headers, &yielding);
    for entry in list_runs(&settings.run.output_dir)? {
        let folder = entry.dir.display().to_string();
        let name = entry
            .dir
            .file_name()
            .map_or_else(|| folder.clone(), |name| name.to_string_lossy().into_owned());
        let summary = entry.info.and_then(|info| {
            let summary = summarise(&Run::open(&entry.dir)?)?;
            Ok((info, summary))
        });
        match summary {
            Ok((info, summary)) => {
                listing.add(
                    vec![
                        name.clone(),
                        info.created_at.clone(),
                        info.backend.clone(),
                        info.device.name.clone(),
                        format!("{}/{}", summary.n_passed, summary.ops.len()),
                        mean_speedup_text(&summary.speedups),
                        info.status.name().replace('_', " "),
                    ],
                    RunItem {
                        run: name,
                        path: folder,
                        facts: Some(RunFacts {
                            created_at: info.created_at,
                            backend: info.backend,
                            device: info.device.name,
                            passed: summary.n_passed,
                            ops: summary.ops.len(),
                            speedups: summary.speedups,
                            status: info.status,
                        }),
                        error: None,
                    },
                );
            }
            Err(error) => {
                let cells =
                    [name.clone(), "-".into(), "-".into(), "-".into(), "-".into(), "-".into()];
                let cells = cells.into_iter().chain([format!("unreadable: {error}")]).collect();
                let error = Some(error.to_string());
                listing.add(cells, RunItem { run: name, path: folder, facts: None, error });
            }
        }
    }
    Ok(listing)
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum BackendKind {
    /// Of `kgen run`.
    Backend,
    /// Of `kgen generate`.
    Provider,
}

/// A backend of `kgen run`, or a provider of `kgen generate`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BackendItem {
    name: String,
    kind: BackendKind,
    /// Whether it can be used here, in words.
    state: String,
    description: String,
    /// Address of a provider's API.
    base_url: Option<String>,
}

fn backends(context: &Context, settings: &Settings) -> Listing<BackendItem> {
    let mut listing =
        Listing::new(&["name", "kind", "state", "what it is"], &[("what it is", 24), ("kind", 0)]);
    let mut add =
        |name: &str, kind: BackendKind, state: &str, what: &str, base_url: Option<String>| {
            let kind_name = match kind {
                BackendKind::Backend => "backend",
                BackendKind::Provider => "provider",
            };
            let cells = [name, kind_name, state, what].map(str::to_owned);
            let [name, _, state, description] = cells.clone();
            listing.add(cells.to_vec(), BackendItem { name, kind, state, description, base_url });
        };
    let python = python::find(settings.python.path.as_deref());
    for backend in Backend::ALL {
        let state = match backend {
            Backend::Python(kind) => python_state(kind, &python),
            Backend::Llm | Backend::Pregenerated | Backend::Builtin | Backend::Cublas => {
                "-".to_owned()
            }
        };
        add(backend.name(), BackendKind::Backend, &state, backend.description(), None);
    }
    for known in providers::known(settings) {
        add(&known.name, BackendKind::Provider, &known.state, &known.what, known.base_url);
    }
    match python {
        Ok(found) => context.ui.note(&found.to_string()),
        Err(missing) => context.ui.note(&missing.to_string()),
    }
    listing
}

/// Says in a few words which tools an implementation in Python lacks.
fn python_state(
    kind: PythonKind,
    python: &Result<python::Python, python::PythonNotFoundError>,
) -> String {
    match python {
        Err(_) => "no PyTorch".to_owned(),
        Ok(found) => match found.lacks(kind) {
            Some(package) => format!("no package {package}"),
            None => "has PyTorch".to_owned(),
        },
    }
}

/// A device that judges kernels.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeviceItem {
    /// Its name for `--device`.
    device: String,
    target: Target,
    note: String,
}

fn devices(context: &Context, settings: &Settings) -> Listing<DeviceItem> {
    let headers = ["device", "name", "arch", ">SMs", ">memory GiB", "note"];
    let mut listing = Listing::new(&headers, &[("note", 12), ("SMs", 0), ("memory GiB", 0)]);
    let mut add = |name: String, target: &Target, note: &str| {
        let gib = target.memory_bytes >> 30;
        let item =
            DeviceItem { device: name.clone(), target: target.clone(), note: note.to_owned() };
        let (sms, memory) = (target.sm_count.to_string(), gib.to_string());
        let row = [name, target.name.clone(), target.arch.clone(), sms, memory, note.to_owned()];
        listing.add(row.to_vec(), item);
    };
    match kgen_device::gpus() {
        Ok(gpus) => {
            for (index, target) in gpus.iter().enumerate() {
                add(format!("cuda:{index}"), target, target.uuid.as_deref().unwrap_or_default());
            }
        }
        Err(error) => context.ui.note(&error.to_string()),
    }
    add("emu".to_owned(), &settings.device.emu.target(), "the PTX emulator; cannot time");
    listing
}

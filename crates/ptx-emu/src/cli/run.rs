//! Runs a kernel on the arrays that the command line names.

use std::{collections::HashSet, fs, ops::Range};

use ptx_emu::{
    Blocks, BufferId, Config, Emulator, Finding, Launch, LaunchError, Limits, Module, Options,
    Report, Severity,
};

use super::{
    Error, Exit, Result,
    args::{Format, RunArgs},
    array::Array,
    compare::{Comparison, compare},
    element::Element,
    json, names,
    source::Source,
    spec::{Arg, Expect, Value},
    text,
};

pub(super) struct RunResult {
    /// The kernel's name in C++.
    pub kernel: String,
    /// Whether all blocks were to run.
    pub whole: bool,
    /// The launch's report, with findings about outputs added.
    pub report: Report,
    /// Arrays that the kernel could change.
    pub outputs: Vec<Output>,
}

/// An array after the launch.
pub(super) struct Output {
    pub name: String,
    pub element: Element,
    pub shape: Vec<usize>,
    /// Elements that were not written, of an array that should be.
    pub unwritten: Option<Vec<Range<u64>>>,
    /// Where it was stored.
    pub file: Option<String>,
    /// The comparison that `--expect` asked for.
    pub comparison: Option<Comparison>,
}

impl RunResult {
    fn exit(&self) -> Exit {
        let failed = self.outputs.iter().filter_map(|o| o.comparison.as_ref()).any(|c| c.wrong > 0);
        match &self.report.end {
            Err(LaunchError::Unsupported { .. }) => Exit::Unsupported,
            Err(LaunchError::Launch { .. }) => Exit::Usage,
            Err(LaunchError::Deadlock { .. }) => Exit::Stuck,
            // The budget after a first error is small; the error matters then.
            Err(LaunchError::Budget { .. }) if self.report.errors().next().is_none() => Exit::Stuck,
            _ if failed || !self.report.is_clean() => Exit::Findings,
            _ => Exit::Clean,
        }
    }
}

/// Reads and parses a PTX file.
pub(super) fn module(path: &str) -> Result<Module> {
    let bytes = fs::read(path).map_err(|error| Error::file(path, error))?;
    let text = String::from_utf8(bytes).map_err(|_| Error::file(path, "it is no UTF-8 text"))?;
    Module::parse(&text).map_err(|error| {
        let hint =
            if path.ends_with(".cu") { "; compile it first: nvcc -ptx -lineinfo" } else { "" };
        Error::file(path, format!("{error}{hint}"))
    })
}

/// Runs the kernel; gives the text to print.
pub(super) fn run(args: &RunArgs) -> Result<(String, Exit)> {
    let module = module(&args.ptx)?;
    let kernels: Vec<&str> = module.kernels().collect();
    if kernels.is_empty() {
        return Err(Error::file(&args.ptx, "it has no kernel"));
    }
    let kernel = names::find(&kernels, args.kernel.as_deref())?.to_owned();
    check_arguments(&module, &kernel, &args.args)?;
    check_blocks(&args.blocks, args.grid)?;
    let source = Source::load(args.source.as_deref(), &args.ptx)?;
    let config = Config::default();
    let memory_bytes = args.memory.unwrap_or(config.memory_bytes);
    let mut emulator = Emulator::new(Config { memory_bytes, ..config });
    args.set.iter().try_for_each(|arg| set(&mut emulator, &module, arg))?;
    let arguments = place(&mut emulator, &args.args)?;
    let wanted = wanted(args, &arguments)?;
    let launch = Launch {
        kernel: kernel.clone(),
        grid: args.grid,
        block: args.block,
        dynamic_smem: args.smem,
        cluster: args.cluster,
        args: arguments.iter().map(|a| a.bytes.clone()).collect(),
    };
    let defaults = Limits::default();
    let limit = args.limit.unwrap_or(defaults.lane_instructions);
    let options = Options {
        threads: 0,
        checks: args.checks,
        counters: args.counters,
        coverage: false,
        blocks: args.blocks.clone(),
        cooperative: args.cooperative,
        dependent: false,
        limits: Limits { lane_instructions: limit, ..defaults },
    };
    let report = emulator.launch(&module, &launch, &options);
    let whole = args.blocks == Blocks::All;
    let mut result =
        RunResult { kernel: names::demangled(&kernel), whole, report, outputs: Vec::new() };
    if !matches!(result.report.end, Err(LaunchError::Launch { .. })) {
        collect(&mut result, &emulator, &kernel, args, &arguments, &wanted)?;
    }
    let printed = match args.format {
        Format::Text => text::report(&result, &launch, &source),
        Format::Json => json::report(&result, &launch)?,
    };
    Ok((printed, result.exit()))
}

/// Gives a variable of the module its value.
fn set(emulator: &mut Emulator, module: &Module, arg: &Arg) -> Result<()> {
    let wrong = |message: String| Error::usage(format!("--set {}: {message}", arg.name));
    let bytes = match &arg.value {
        Value::Bytes(bytes) => bytes.clone(),
        Value::In { element, data } => Array::load(data, *element)?.bytes,
        _ => return Err(wrong("expected in:TYPE:DATA, TYPE:VALUE or hex:BYTES".to_owned())),
    };
    let variable =
        emulator.variable(module, &arg.name).map_err(|error| wrong(error.to_string()))?;
    let size = emulator.bytes(variable).len();
    if bytes.len() > size {
        return Err(wrong(format!("{} bytes given, it has {size}", bytes.len())));
    }
    emulator.write(variable, &bytes);
    Ok(())
}

/// Compares the arguments with the kernel's parameters.
fn check_arguments(module: &Module, kernel: &str, args: &[Arg]) -> Result<()> {
    let mut names = HashSet::new();
    if let Some(arg) = args.iter().find(|arg| !names.insert(&arg.name)) {
        return Err(Error::usage(format!(
            "--arg {}: expected another name: this one is taken",
            arg.name
        )));
    }
    let sizes = module.param_sizes(kernel).unwrap_or_default();
    let given = |arg: &Arg| match &arg.value {
        Value::Bytes(bytes) => bytes.len(),
        _ => 8,
    };
    let fits = sizes.len() == args.len() && sizes.iter().zip(args).all(|(n, a)| *n == given(a));
    if fits {
        return Ok(());
    }
    let name = names::demangled(kernel);
    let types = names::parameter_types(&name);
    let mut message =
        format!("kernel `{name}` takes {} arguments, {} given", sizes.len(), args.len());
    for i in 0..sizes.len().max(args.len()) {
        let wanted = sizes.get(i).map_or("nothing".to_owned(), |n| format!("{n} bytes"));
        let ty = if types.len() == sizes.len() { types[i.min(types.len() - 1)] } else { "" };
        let got = args.get(i).map_or("nothing given".to_owned(), |a| {
            let n = given(a);
            let off = if sizes.get(i) == Some(&n) { "" } else { "  <-- differs" };
            format!("`{}`, {n} bytes{off}", a.name)
        });
        let ty = if i < sizes.len() { ty } else { "" };
        let line = format!("\n  {i}: {wanted:<9} {ty:<16} {got}");
        message.push_str(line.trim_end());
    }
    Err(Error::usage(message))
}

/// Blocks that are not there are a slip: a run of none of them would look clean.
fn check_blocks(blocks: &Blocks, grid: [u32; 3]) -> Result<()> {
    let n = grid.iter().fold(1_u64, |n, axis| n.saturating_mul(u64::from(*axis)));
    match blocks {
        Blocks::Only(list) => match list.iter().find(|block| **block >= n) {
            Some(block) if n > 0 => Err(Error::usage(format!(
                "--blocks: there is no block {block}; the grid has 0 to {}",
                n - 1
            ))),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// An argument on the device.
struct Placed {
    bytes: Vec<u8>,
    array: Option<(BufferId, Element, Vec<usize>)>,
}

fn place(emulator: &mut Emulator, args: &[Arg]) -> Result<Vec<Placed>> {
    args.iter().map(|arg| place_one(emulator, arg)).collect()
}

fn place_one(emulator: &mut Emulator, arg: &Arg) -> Result<Placed> {
    let mut alloc = |bytes: usize, element: Element| {
        emulator
            .try_alloc(&arg.name, bytes, element.bytes())
            .map_err(|error| Error::usage(format!("--arg {}: {error}", arg.name)))
    };
    let (buffer, element, shape) = match &arg.value {
        Value::Bytes(bytes) => return Ok(Placed { bytes: bytes.clone(), array: None }),
        Value::Out { element, shape, .. } => {
            let bytes = shape.iter().product::<usize>() * element.bytes();
            (alloc(bytes, *element)?, *element, shape.clone())
        }
        Value::In { element, data } | Value::InOut { element, data, .. } => {
            let array = Array::load(data, *element)?;
            let buffer = alloc(array.bytes.len(), *element)?;
            emulator.write(buffer, &array.bytes);
            (buffer, *element, array.shape)
        }
    };
    let bytes = emulator.address(buffer).to_le_bytes().to_vec();
    Ok(Placed { bytes, array: Some((buffer, element, shape)) })
}

/// The values that an array should hold afterwards.
struct Wanted {
    array: Array,
    tolerance: Option<f64>,
}

/// The expectation for each argument; read before the launch, which may take long.
fn wanted(args: &RunArgs, arguments: &[Placed]) -> Result<Vec<Option<Wanted>>> {
    let mut all: Vec<Option<Wanted>> = args.args.iter().map(|_| None).collect();
    for Expect { name, data, tolerance } in &args.expect {
        let Some(at) = args.args.iter().position(|arg| arg.name == *name) else {
            return Err(Error::usage(format!("--expect: there is no argument `{name}`")));
        };
        let Some((_, element, shape)) = &arguments[at].array else {
            return Err(Error::usage(format!("--expect: `{name}` is no array")));
        };
        let array = Array::load(data, *element)?;
        let n: usize = shape.iter().product();
        if array.len() != n {
            let has = array.len();
            return Err(Error::usage(format!(
                "--expect {name}: `{data}` has {has} elements, the array {n}"
            )));
        }
        all[at] = Some(Wanted { array, tolerance: *tolerance });
    }
    Ok(all)
}

/// Looks at the arrays after the launch: unwritten elements, files, comparisons.
fn collect(
    result: &mut RunResult,
    emulator: &Emulator,
    kernel: &str,
    args: &RunArgs,
    arguments: &[Placed],
    wanted: &[Option<Wanted>],
) -> Result<()> {
    for ((arg, placed), expect) in args.args.iter().zip(arguments).zip(wanted) {
        let Some((buffer, element, shape)) = &placed.array else { continue };
        let file = match &arg.value {
            Value::InOut { file, .. } | Value::Out { file, .. } => file.clone(),
            _ if expect.is_none() => continue,
            _ => None,
        };
        let unwritten = matches!(arg.value, Value::Out { .. }).then(|| emulator.unwritten(*buffer));
        // Looking through a large buffer takes time: not twice for nothing.
        let missing = unwritten.as_ref().is_some_and(|ranges| !ranges.is_empty());
        if missing && result.whole && result.report.end.is_ok() {
            result.report.findings.extend(emulator.unwritten_finding(*buffer, kernel));
        }
        let mut output = Output {
            name: arg.name.clone(),
            element: *element,
            shape: shape.clone(),
            unwritten,
            file,
            comparison: None,
        };
        if output.file.is_some() || expect.is_some() {
            let bytes = emulator.bytes(*buffer).to_vec();
            let array = Array { element: *element, bytes, shape: shape.clone() };
            if let Some(file) = &output.file {
                array.store(file)?;
            }
            if let Some(expect) = expect {
                let skip = output.unwritten.as_deref().filter(|_| !result.whole);
                let skip = skip.unwrap_or(&[]);
                output.comparison = Some(compare(&array, &expect.array, expect.tolerance, skip));
            }
        }
        result.outputs.push(output);
    }
    Ok(())
}

/// Errors, and findings in all.
pub(super) fn counts(findings: &[Finding]) -> (u64, u64) {
    let errors = findings.iter().filter(|f| f.severity == Severity::Error).count();
    (errors as u64, findings.len() as u64)
}

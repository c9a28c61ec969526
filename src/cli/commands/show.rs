//! `kgen show`: an op's contract, its cases, and the prompt as it would be sent.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use crate::{
    agent::Material,
    cli::{
        CommandError, Context,
        args::{FormatArgs, SuiteArgs},
        exit_codes::Exit,
        material::{material, settle_baselines},
        selection::{self, Selection},
        ui::{self, Format},
    },
    llm::Turn,
    op::OpDef,
    prompt::{Rendered, Situation},
    record::Case,
    report::TextTable,
    settings::Overrides,
};

/// Show an op's contract, its cases and the prompt as it would be sent
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Op, for example relu or aten.relu.default; left out with --op-file
    #[arg(value_name = "OP", required_unless_present = "op_file")]
    op: Option<String>,
    #[command(flatten)]
    suite: SuiteArgs,
    /// Folder of prompt templates that replace kgen's own
    #[arg(long, value_name = "DIR")]
    prompts_dir: Option<String>,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(context: &Context, args: &ShowArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.suite.add_to(&mut flags);
    flags.set("prompts.dir", args.prompts_dir.clone());
    flags.set("suite.ops", args.op.clone().map(|op| vec![op]));
    let mut settings = context.settings(&flags)?;
    settle_baselines(&context.ui, &mut settings, false)?;
    let selection = selection::select(&context.ui, &settings.suite)?;
    let Some(op) = selection.ops.first() else {
        return Err(CommandError::usage("no op is given"));
    };
    let mut cases = selection.suite.public_cases(&op.name)?;
    cases.retain(|case| selection.dtypes().is_none_or(|dtypes| dtypes.contains(&case.dtype)));
    let material = material(&settings, &selection, &settings.device.emu.target(), false)?;
    let prompt = material.prompt(&op.name, &Situation::first(Turn::Code));
    let prompt = prompt.map_err(|error| CommandError::new(Exit::Config, error))?;
    match args.format.format {
        Format::Json => ui::json(&context.ui, &as_json(op, &cases, &prompt))?,
        Format::Table => context.ui.data(&as_text(op, &selection, &cases, &prompt))?,
    }
    Ok(Exit::Ok)
}

fn as_json(op: &OpDef, cases: &[Case], prompt: &Rendered) -> Value {
    json!({
        "op": op.name,
        "overload": op.schema,
        "signature": op.signature,
        "semantics": op.semantics,
        "outputs": op.outputs,
        "plan_names": op.plan_names(),
        "exact": op.exact,
        "aliases": op.aliases,
        "dtypes": op.dtypes,
        "definition": op.definition,
        "cases": cases,
        "prompt": { "system": prompt.system, "user": prompt.user },
    })
}

fn as_text(op: &OpDef, selection: &Selection, cases: &[Case], prompt: &Rendered) -> String {
    let mut text =
        format!("# {} ({})\n\n    {}\n\n{}\n", op.name, op.schema, op.signature, op.semantics);
    let outputs = op.output_names(op.outputs.len());
    text.push_str("\n## Names in a plan\n\n");
    for name in op.plan_names() {
        text.push_str(&format_line(&name, "input"));
    }
    for (name, what) in outputs.iter().zip(&op.outputs) {
        text.push_str(&format_line(name, &format!("output: {what}")));
    }
    if let Some(macros) = cases.first().and_then(|case| op.type_macros(case).ok()) {
        text.push_str("\n## Type macros of the first case\n\n");
        for (name, dtype) in macros {
            text.push_str(&format_line(&name, dtype.cuda_type()));
        }
    }
    let mut table = TextTable::new(&["case", "class", "dtype", "inputs"]);
    for case in cases {
        table.row(vec![case.id.clone(), class(case), case.dtype.to_string(), tensors(case)]);
    }
    let n_cases = count_by_class(cases);
    // Any seed tells how many there are.
    let all = selection.suite.cases(&op.name, selection.dtypes(), 0).map_or(0, |all| all.len());
    let drawn = if all > cases.len() {
        "more are drawn from each evaluation's secret seed"
    } else {
        "none is drawn: a kernel for these shapes alone would pass"
    };
    text + &format!(
        "\n## Cases in suite `{}`\n\n{n_cases}; {drawn}.\n\n{}\n\n## System prompt\n\n{}\n\n## Prompt\n\n{}\n",
        selection.suite.name,
        table.render(),
        prompt.system.trim_end(),
        prompt.user.trim_end()
    )
}

fn format_line(name: &str, what: &str) -> String {
    format!("    {name:<14} {what}\n")
}

fn class(case: &Case) -> String {
    let name = serde_json::to_value(case.class).expect("a class is plain data");
    name.as_str().unwrap_or_default().to_owned()
}

fn tensors(case: &Case) -> String {
    let specs = case.tensors().map(|(name, tensor)| {
        let strided = if tensor.spec.is_contiguous() { "" } else { " strided" };
        format!("{name}={}{:?}{strided}", tensor.spec.dtype, tensor.spec.shape)
    });
    specs.collect::<Vec<_>>().join(" ")
}

fn count_by_class(cases: &[Case]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases {
        *counts.entry(class(case)).or_default() += 1;
    }
    let parts: Vec<_> = counts.iter().map(|(class, n)| format!("{n} {class}")).collect();
    format!("{} cases: {}", cases.len(), parts.join(", "))
}

//! `kgen show`: an op's contract, its cases, and the prompt as it would be sent.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use kgen_agent::{BoxError, RunInputs, SuiteInputs};
use kgen_kernel::plan::{plan_names, type_macros};
use kgen_llm::Turn;
use kgen_ops::op::OpDef;
use kgen_prompt::{HistoryEntry, LastAttempt, Rendered, Situation};
use kgen_record::{Case, DType, Verdict};
use kgen_settings::Overrides;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cli::{
        CommandError, Context,
        args::{FormatArgs, SuiteArgs},
        exit_codes::Exit,
        providers,
        run_inputs::{inputs, resolve_baselines},
        selection::{self, Selection},
    },
    report::{Screen, TextTable},
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
    /// Print the prompt alone, as it would be sent
    #[arg(long)]
    prompt: bool,
    /// Prompt to show; those after an attempt are about one that is made up
    #[arg(long, value_name = "TURN", value_enum, default_value_t)]
    turn: TurnArg,
    /// Tokens that a prompt may have; details beyond are left out, the oldest first
    #[arg(long, value_name = "N")]
    prompt_tokens: Option<i64>,
    #[command(flatten)]
    format: FormatArgs,
}

/// The request of a prompt: the first kernel, an analysis of a correct one (`--planner`), a kernel
/// after one that failed, a kernel after a correct one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum TurnArg {
    #[default]
    Initial,
    Plan,
    Repair,
    Improve,
}

impl TurnArg {
    /// Returns the verdict of the attempt that the prompt is about.
    const fn verdict(self) -> Option<Verdict> {
        match self {
            Self::Initial => None,
            Self::Repair => Some(Verdict::WrongOutput),
            Self::Plan | Self::Improve => Some(Verdict::Passed),
        }
    }
}

/// Text in a prompt in place of an attempt's kernel file.
const MADE_UP_KERNEL: &str = "// Made up: the kernel file of attempt 1 stands here.";

/// Text in a prompt in place of the findings of an attempt.
const MADE_UP_FEEDBACK: &str = "(Made up: what was found out about attempt 1 stands here.)";

pub(crate) fn run(context: &Context, args: &ShowArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.suite.add_to(&mut flags);
    flags.set("prompts.dir", args.prompts_dir.clone());
    flags.set("feedback.prompt_tokens", args.prompt_tokens);
    flags.set("suite.ops", args.op.clone().map(|op| vec![op]));
    let mut settings = context.settings(&flags)?;
    resolve_baselines(&context.ui, &mut settings, false)?;
    let selection = selection::select(&context.ui, &settings.suite)?;
    let Some(op) = selection.ops.first() else {
        return Err(CommandError::usage("no op is given"));
    };
    let mut cases = selection.suite.public_cases(&op.name)?;
    cases.retain(|case| selection.dtypes().is_none_or(|dtypes| dtypes.contains(&case.dtype)));
    let provider = providers::described(&settings);
    let target = settings.device.emu.target();
    let inputs = inputs(&settings, &selection, &target, false, provider.as_ref())?;
    let prompt = prompt(&inputs, &op.name, args.turn);
    let prompt = prompt.map_err(|error| CommandError::new(Exit::Config, error))?;
    if args.prompt {
        report_turn(context, args.turn, &prompt);
    }
    context.ui.result(&Shown::new(op, &cases, &prompt), || {
        if args.prompt {
            return prompt_text(&prompt);
        }
        as_text(op, &selection, &cases, &prompt, context.ui.screen())
    })?;
    Ok(Exit::Ok)
}

/// Renders the prompt of a turn for the device that the emulator pretends to be.
fn prompt(inputs: &SuiteInputs, op: &str, turn: TurnArg) -> Result<Rendered, BoxError> {
    let asked = if turn == TurnArg::Plan { Turn::Plan } else { Turn::Code };
    let Some(verdict) = turn.verdict() else {
        return inputs.prompt(op, &Situation::first(asked));
    };
    let past = HistoryEntry {
        number: 1,
        parents: Vec::new(),
        change: Some("made up".to_owned()),
        duplicate_of: None,
        verdict,
        reason: String::new(),
        passed: (0, 0),
        speedup: None,
    };
    let feedback = format!("## Verdict: `{verdict}`\n\n{MADE_UP_FEEDBACK}\n");
    let situation = Situation {
        history: std::slice::from_ref(&past),
        parent: Some(LastAttempt {
            past: &past,
            kernel: Some(MADE_UP_KERNEL),
            feedback: &feedback,
        }),
        ..Situation::first(asked)
    };
    inputs.prompt(op, &situation)
}

/// Reports the made-up and dropped parts of a prompt.
fn report_turn(context: &Context, turn: TurnArg, prompt: &Rendered) {
    let mut notes = vec![format!(
        "{} tokens by kgen's estimate; on a GPU the prompt names that GPU",
        prompt.tokens
    )];
    if turn.verdict().is_some() {
        notes.push("attempt 1 is made up: nothing was asked for or judged".to_owned());
    }
    if !prompt.left_out.is_empty() {
        notes.push(format!("left out for length: {}", prompt.left_out.join("; ")));
    }
    notes.iter().for_each(|note| context.ui.note(note));
}

fn prompt_text(prompt: &Rendered) -> String {
    format!(
        "## System prompt\n\n{}\n\n## Prompt\n\n{}\n",
        prompt.system.trim_end(),
        prompt.user.trim_end()
    )
}

/// An op's contract, cases and prompt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Shown {
    op: String,
    /// The overload's name in PyTorch, for example `aten.add.Tensor`.
    overload: String,
    signature: String,
    /// Its meaning in words.
    semantics: String,
    /// The contents of each output.
    outputs: Vec<String>,
    /// Names of the inputs in a plan.
    plan_names: Vec<String>,
    /// Whether the result has one right value, to the bit.
    exact: bool,
    aliases: Vec<String>,
    dtypes: Vec<DType>,
    /// The op file, of an op that is not in the catalogue.
    definition: Option<String>,
    /// The cases that are no secret.
    cases: Vec<Case>,
    prompt: ShownPrompt,
}

/// A prompt as it would be sent.
#[derive(Debug, Serialize, JsonSchema)]
struct ShownPrompt {
    system: String,
    user: String,
    /// Its length by kgen's estimate.
    tokens: u64,
    /// Parts that were left out for length.
    left_out: Vec<String>,
}

impl Shown {
    fn new(op: &OpDef, cases: &[Case], prompt: &Rendered) -> Self {
        Self {
            op: op.name.clone(),
            overload: op.schema.clone(),
            signature: op.signature.clone(),
            semantics: op.semantics.clone(),
            outputs: op.outputs.clone(),
            plan_names: plan_names(op),
            exact: op.exact,
            aliases: op.aliases.clone(),
            dtypes: op.dtypes.clone(),
            definition: op.definition.clone(),
            cases: cases.to_vec(),
            prompt: ShownPrompt {
                system: prompt.system.clone(),
                user: prompt.user.clone(),
                tokens: prompt.tokens,
                left_out: prompt.left_out.clone(),
            },
        }
    }
}

fn as_text(
    op: &OpDef,
    selection: &Selection,
    cases: &[Case],
    prompt: &Rendered,
    screen: Screen,
) -> String {
    let mut text =
        format!("# {} ({})\n\n    {}\n\n{}\n", op.name, op.schema, op.signature, op.semantics);
    let outputs = op.output_names(op.outputs.len());
    text.push_str("\n## Names in a plan\n\n");
    for name in plan_names(op) {
        text.push_str(&format_line(&name, "input"));
    }
    for (name, what) in outputs.iter().zip(&op.outputs) {
        text.push_str(&format_line(name, &format!("output: {what}")));
    }
    if let Some(macros) = cases.first().and_then(|case| type_macros(op, case).ok()) {
        text.push_str("\n## Type macros of the first case\n\n");
        for (name, dtype) in macros {
            text.push_str(&format_line(&name, dtype.cuda_type()));
        }
    }
    let mut table = TextTable::new(&["case", "class", "dtype", "inputs"]).yielding(&[
        ("inputs", 16),
        ("class", 0),
        ("dtype", 0),
    ]);
    for case in cases {
        table.row(vec![case.id.clone(), class(case), case.dtype.to_string(), tensors(case)]);
    }
    let n_cases = count_by_class(cases);
    // Any seed gives their number.
    let all = selection.suite.cases(&op.name, selection.dtypes(), 0).map_or(0, |all| all.len());
    let drawn = if all > cases.len() {
        "more are drawn from each evaluation's secret seed"
    } else {
        "none is drawn: a kernel for these shapes alone would pass"
    };
    let table = table.fit(screen);
    let cases = format!("\n## Cases in suite `{}`\n\n{n_cases}; {drawn}.", selection.suite.name);
    // A prompt is shown as it is sent.
    format!("{}\n\n{table}\n\n{}", screen.wrap(&(text + &cases)), prompt_text(prompt))
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

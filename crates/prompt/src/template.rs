//! The templates: embedded, replaceable, strict.

use std::{
    io,
    path::{Path, PathBuf},
};

use handlebars::{Handlebars, RenderError, TemplateError};
use kgen_llm::{Turn, size};

use super::{
    PromptContext, Situation,
    detail::Detail,
    device,
    examples::EXAMPLES,
    view::{self, NotesView, View},
};

/// Lists templates by name with their embedded texts.
macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../prompts/", $name, ".hbs")))),*]
    };
}

/// Names of the templates with their embedded texts: whole prompts, parts of them, notes.
pub const TEMPLATES: &[(&str, &str)] = embedded![
    "system",
    "initial",
    "repair",
    "improve",
    "plan",
    "task",
    "notes",
    "history",
    "best",
    "parent",
    "branch",
    "planned",
    "answer",
    "notes/elementwise",
    "notes/reduction",
    "notes/norm",
    "notes/softmax",
    "notes/loss",
    "notes/contraction",
    "notes/attention",
    "notes/convolution",
    "notes/pool",
    "notes/scan",
    "notes/sort",
    "notes/index",
    "notes/movement",
    "notes/quantize",
    "notes/general",
    "arch/sm_80",
    "arch/sm_86",
    "arch/sm_89",
    "arch/sm_90",
    "arch/sm_100",
    "arch/sm_120",
];

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder or a file in it cannot be read.
    #[error("failed to read prompt templates from {}", path.display())]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file that is no template kgen asks for.
    #[error("{} replaces no prompt template (known: {})", path.display(), known())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// A folder without templates.
    #[error("{} holds no prompt template (known: {})", path.display(), known())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// A template that is no Handlebars.
    #[error("prompt template `{name}` is malformed")]
    Template {
        /// The template.
        name: String,
        /// Where and why.
        #[source]
        source: Box<TemplateError>,
    },
    /// A template asks for something that does not exist.
    #[error("failed to render prompt template `{name}`")]
    Render {
        /// The template.
        name: String,
        /// Where and why.
        #[source]
        source: Box<RenderError>,
    },
    /// Even without details the prompt has more tokens than it may have.
    #[error(
        "the prompt for {op} has some {tokens} tokens without any details, and {limit} are allowed"
    )]
    TooLong {
        op: String,
        /// Tokens by kgen's estimate.
        tokens: u64,
        /// Tokens that are allowed.
        limit: u64,
    },
}

fn known() -> String {
    let templates = TEMPLATES.iter().map(|(name, _)| format!("{name}.hbs"));
    let examples = EXAMPLES.iter().map(|(name, _)| format!("examples/{name}.cu"));
    templates.chain(examples).collect::<Vec<_>>().join(", ")
}

/// A prompt, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The system prompt.
    pub system: String,
    /// The user prompt.
    pub user: String,
    /// Tokens of both by kgen's estimate, which errs on the high side.
    pub tokens: u64,
    /// The parts that were left out to stay within the allowed tokens, each in a few words.
    pub left_out: Vec<String>,
}

/// The templates of a run.
#[derive(Debug)]
pub struct Prompts {
    registry: Handlebars<'static>,
    /// Worked examples by name.
    examples: Vec<(String, String)>,
}

impl Prompts {
    /// Loads the embedded templates and whatever replaces them in a folder: files `NAME.hbs` in it
    /// and in its folders `notes` and `arch`, and `examples/NAME.cu`.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read or holds none, an unknown `.hbs` file, a malformed template.
    pub fn load(dir: Option<&Path>) -> Result<Self, Error> {
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(handlebars::no_escape);
        for (name, text) in TEMPLATES {
            add(&mut registry, name, text)?;
        }
        let mut examples: Vec<(String, String)> =
            EXAMPLES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        for (name, path) in dir.map(replacements).transpose()?.unwrap_or_default() {
            let text = std::fs::read_to_string(&path)
                .map_err(|source| Error::Read { path: path.clone(), source })?;
            if let Some(example) = name.strip_prefix("examples/") {
                let known = examples.iter_mut().find(|(known, _)| known == example);
                known.ok_or(Error::Unknown { path })?.1 = text;
            } else if TEMPLATES.iter().any(|(known, _)| *known == name) {
                add(&mut registry, &name, &text)?;
            } else {
                return Err(Error::Unknown { path });
            }
        }
        Ok(Self { registry, examples })
    }

    /// Renders the prompt for a situation: the first one, a repair, an improvement or an analysis.
    ///
    /// Where it has more tokens than allowed, details are left out in a fixed order: old rows of the
    /// history, the source of the best kernel, the end of the feedback, cases, notes, worked
    /// examples, the rest of the history, and the end of the parent's source. The contract, the op,
    /// the verdict and the head of the parent's source are never left out.
    ///
    /// # Errors
    ///
    /// [`Error::Render`]; [`Error::TooLong`] where the parts that always stay are too long.
    pub fn render(
        &self,
        context: &PromptContext<'_>,
        situation: &Situation<'_>,
    ) -> Result<Rendered, Error> {
        let mut tokens = 0;
        for detail in Detail::steps() {
            let mut rendered = self.render_in(context, situation, &detail)?;
            tokens = rendered.tokens;
            if tokens <= context.prompt_tokens {
                rendered.left_out = detail.left_out(context, situation);
                return Ok(rendered);
            }
        }
        let op = context.op.name.clone();
        Err(Error::TooLong { op, tokens, limit: context.prompt_tokens })
    }

    fn render_in(
        &self,
        context: &PromptContext<'_>,
        situation: &Situation<'_>,
        detail: &Detail,
    ) -> Result<Rendered, Error> {
        let mut view = view::view(context, situation, detail, &self.examples);
        if detail.notes {
            view.notes = self.notes(context, &view)?;
        }
        let name = match (situation.turn, situation.parent) {
            (Turn::Plan, _) => "plan",
            (Turn::Code, None) => "initial",
            (Turn::Code, Some(parent)) if parent.past.verdict.is_pass() => "improve",
            (Turn::Code, Some(_)) => "repair",
        };
        let (system, user) = (self.text("system", &view)?, self.text(name, &view)?);
        let tokens = size::of_call(&system, &user);
        Ok(Rendered { system, user, tokens, left_out: Vec::new() })
    }

    /// Renders the notes that the other templates quote.
    fn notes(&self, context: &PromptContext<'_>, view: &View) -> Result<NotesView, Error> {
        let families = view::noted(context.op).into_iter();
        let families = families.map(|family| self.text(&format!("notes/{}", family.name()), view));
        let families = families.collect::<Result<Vec<_>, _>>()?;
        let families: Vec<&str> = families.iter().map(|text| text.trim()).collect();
        let arch = device::notes_of(context.target);
        let arch = match self.registry.has_template(&arch) {
            true => self.text(&arch, view)?,
            false => String::new(),
        };
        Ok(NotesView { family: families.join("\n"), arch: arch.trim().to_owned() })
    }

    fn text(&self, name: &str, view: &View) -> Result<String, Error> {
        let rendered = self.registry.render(name, view);
        rendered.map_err(|source| Error::Render { name: name.to_owned(), source: Box::new(source) })
    }
}

fn add(registry: &mut Handlebars<'_>, name: &str, text: &str) -> Result<(), Error> {
    let registered = registry.register_template_string(name, text);
    registered.map_err(|source| Error::Template { name: name.to_owned(), source: Box::new(source) })
}

/// Returns the replacements in a folder by name, sorted.
fn replacements(dir: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let mut files = Vec::new();
    for (folder, extension) in [("", "hbs"), ("notes", "hbs"), ("arch", "hbs"), ("examples", "cu")]
    {
        let path = dir.join(folder);
        if !folder.is_empty() && !path.is_dir() {
            continue;
        }
        let failed = |source| Error::Read { path: path.clone(), source };
        for entry in std::fs::read_dir(&path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|found| found == extension) {
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
                files.push((format!("{prefix}{stem}"), path));
            }
        }
    }
    if files.is_empty() {
        return Err(Error::Empty { path: dir.to_owned() });
    }
    files.sort();
    Ok(files)
}

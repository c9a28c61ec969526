//! The templates: embedded, replaceable, strict.

use std::{
    io,
    path::{Path, PathBuf},
};

use handlebars::{Handlebars, RenderError, TemplateError};

use super::context::{self, BestAttempt, LastAttempt, Past, PromptContext};

/// Names of the templates with their embedded texts.
pub const TEMPLATES: [(&str, &str); 6] = [
    ("system", include_str!("../../prompts/system.hbs")),
    ("task", include_str!("../../prompts/task.hbs")),
    ("history", include_str!("../../prompts/history.hbs")),
    ("initial", include_str!("../../prompts/initial.hbs")),
    ("repair", include_str!("../../prompts/repair.hbs")),
    ("improve", include_str!("../../prompts/improve.hbs")),
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
        name: &'static str,
        /// Where and why.
        #[source]
        source: Box<RenderError>,
    },
}

fn known() -> String {
    TEMPLATES.map(|(name, _)| format!("{name}.hbs")).join(", ")
}

/// A prompt, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The system prompt.
    pub system: String,
    /// The user prompt.
    pub user: String,
}

/// The templates of a run.
#[derive(Debug)]
pub struct Prompts {
    registry: Handlebars<'static>,
}

impl Prompts {
    /// Loads the embedded templates and whatever replaces them in a folder.
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
        for path in dir.map(replacements).transpose()?.unwrap_or_default() {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if !TEMPLATES.iter().any(|(name, _)| *name == stem) {
                return Err(Error::Unknown { path });
            }
            let text = std::fs::read_to_string(&path)
                .map_err(|source| Error::Read { path: path.clone(), source })?;
            add(&mut registry, stem, &text)?;
        }
        Ok(Self { registry })
    }

    /// Renders the first prompt for an op.
    ///
    /// # Errors
    ///
    /// [`Error::Render`].
    pub fn initial(&self, context: &PromptContext<'_>) -> Result<Rendered, Error> {
        self.render("initial", &context::view(context, &[], None, None))
    }

    /// Renders the prompt after an attempt: a repair, or an improvement where it passed.
    ///
    /// `earlier` are the attempts before the last, in order; `best` is the best correct one, which
    /// may be the last.
    ///
    /// # Errors
    ///
    /// [`Error::Render`].
    pub fn next(
        &self,
        context: &PromptContext<'_>,
        earlier: &[Past],
        last: &LastAttempt<'_>,
        best: Option<&BestAttempt<'_>>,
    ) -> Result<Rendered, Error> {
        let name = if last.past.verdict.is_pass() { "improve" } else { "repair" };
        // The last kernel is shown anyway.
        let best = best.filter(|best| best.number != last.past.number);
        self.render(name, &context::view(context, earlier, Some(last), best))
    }

    fn render(&self, name: &'static str, view: &context::View) -> Result<Rendered, Error> {
        let text = |name: &'static str| {
            let rendered = self.registry.render(name, view);
            rendered.map_err(|source| Error::Render { name, source: Box::new(source) })
        };
        Ok(Rendered { system: text("system")?, user: text(name)? })
    }
}

fn add(registry: &mut Handlebars<'_>, name: &str, text: &str) -> Result<(), Error> {
    let registered = registry.register_template_string(name, text);
    registered.map_err(|source| Error::Template { name: name.to_owned(), source: Box::new(source) })
}

/// Returns the template files of a folder, sorted.
fn replacements(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read { path: dir.to_owned(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "hbs") {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(Error::Empty { path: dir.to_owned() });
    }
    paths.sort();
    Ok(paths)
}

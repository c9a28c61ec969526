//! Standard output and standard error: data to the one, everything else to the other.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use kgen_settings::env;

use super::{
    CommandError,
    document::Draft,
    exit_codes::Exit,
    printable::{printable, printable_json},
    schemas::Output,
};
use crate::report::{Screen, Tone};

/// Columns of a narrow table where there is no terminal.
pub(crate) const COLUMNS: usize = 80;

/// How talkative kgen is on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// Where a command prints.
#[derive(Debug, Clone)]
pub(crate) struct Ui {
    verbosity: Verbosity,
    /// Whether tables have all columns.
    wide: bool,
    /// Where standard output goes.
    out: Screen,
    /// Where standard error goes.
    err: Screen,
    bars: Option<MultiProgress>,
    /// The document that takes the result's place on standard output.
    document: Option<Draft>,
}

impl Ui {
    /// Returns a printer; progress bars only where standard error is a terminal that can do them. Where
    /// `wide`, tables are as wide on a terminal as in a pipe.
    #[must_use]
    pub(crate) fn new(verbosity: Verbosity, wide: bool, document: Option<Draft>) -> Self {
        let dumb = env::TERM.text().is_some_and(|term| term == "dumb");
        let bars = io::stderr().is_terminal() && !dumb && verbosity != Verbosity::Quiet;
        let out = Screen { width: width_of(&Term::stdout()), color: has_color(&io::stdout()) };
        Self {
            verbosity,
            wide,
            out: if wide { Screen { width: None, ..out } } else { out },
            err: Screen { width: width_of(&Term::stderr()), color: has_color(&io::stderr()) },
            bars: bars.then(MultiProgress::new),
            document,
        }
    }

    /// Returns whether tables are asked for with all columns.
    pub(crate) const fn is_wide(&self) -> bool {
        self.wide
    }

    /// Returns whether details are asked for.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity >= Verbosity::Verbose
    }

    /// Returns the place of tables and texts: standard output.
    pub(crate) const fn screen(&self) -> Screen {
        self.out
    }

    /// Returns the same for tables that are as narrow as a terminal in files and pipes too, unless they are
    /// asked for with all columns.
    pub(crate) fn narrow_screen(&self) -> Screen {
        let width = self.out.width.or((!self.wide).then_some(COLUMNS));
        Screen { width, ..self.out }
    }

    /// Returns the place of notes: standard error.
    pub(crate) const fn notes(&self) -> Screen {
        self.err
    }

    /// Prints the result of a command to standard output: as text, or at the end as the data of a
    /// document.
    ///
    /// # Errors
    ///
    /// As [`Self::data`].
    pub(crate) fn result<T: Output>(
        &self,
        data: &T,
        text: impl FnOnce() -> String,
    ) -> Result<(), CommandError> {
        match &self.document {
            Some(document) => {
                document.set(data, None);
                Ok(())
            }
            None => match text() {
                text if text.is_empty() => Ok(()),
                text => self.data(&text),
            },
        }
    }

    /// Returns the document that is asked for.
    pub(crate) const fn document(&self) -> Option<&Draft> {
        self.document.as_ref()
    }

    /// Prints data to standard output, a line end added.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written to; a reader that went away is no error.
    pub(crate) fn data(&self, text: &str) -> Result<(), CommandError> {
        let text = printable(text.trim_end(), self.out.color);
        let mut stdout = io::stdout().lock();
        let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(CommandError::new(Exit::Config, error).hint("standard output is not writable"))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Prints the progress to standard error.
    pub(crate) fn note(&self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.line(text);
        }
    }

    /// Prints a detail to standard error, where asked for.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbosity >= Verbosity::Verbose {
            self.line(text);
        }
    }

    /// Prints a warning to standard error.
    pub(crate) fn warn(&self, text: &str) {
        self.keep_warning(text);
        if self.verbosity >= Verbosity::Normal {
            self.line(&format!("{} {text}", self.err.paint(Tone::Open, "warning:")));
        }
    }

    /// Puts a warning into the document that is asked for.
    pub(crate) fn keep_warning(&self, text: &str) {
        if let Some(document) = &self.document {
            document.warn(text);
        }
    }

    /// Prints to standard error a message that must be known even where nothing else is printed.
    pub(crate) fn announce(&self, text: &str) {
        self.line(text);
    }

    /// Prints a failure to standard error.
    pub(crate) fn error(&self, error: &CommandError) {
        let text = error.render();
        let message = text.strip_prefix("error:").unwrap_or(&text);
        self.line(&format!("{}{message}", self.err.paint(Tone::Bad, "error:")));
    }

    /// Prints a line to standard error, above the progress bars.
    fn line(&self, text: &str) {
        let text = self.err.wrap(&printable(&shortened(text), self.err.color));
        let print = || {
            // Nobody reads when standard error is gone.
            drop(writeln!(io::stderr().lock(), "{text}"));
        };
        match &self.bars {
            Some(bars) => bars.suspend(print),
            None => print(),
        }
    }

    /// Returns a bar that counts to `len`; hidden where there are no bars.
    #[must_use]
    pub(crate) fn bar(&self, len: u64, label: &str) -> ProgressBar {
        let style = ProgressStyle::with_template("{prefix:>14} [{bar:24}] {pos}/{len} {wide_msg}");
        self.styled(ProgressBar::new(len), style, label)
    }

    /// Returns a bar that counts bytes to `len`; hidden where there are no bars.
    #[must_use]
    pub(crate) fn byte_bar(&self, len: u64, label: &str) -> ProgressBar {
        let template = "{prefix:>14} [{bar:24}] {bytes}/{total_bytes} {wide_msg}";
        self.styled(ProgressBar::new(len), ProgressStyle::with_template(template), label)
    }

    /// Returns a line with the state of one worker or op; hidden where there are no bars.
    #[must_use]
    pub(crate) fn spinner(&self, label: &str) -> ProgressBar {
        let style = ProgressStyle::with_template("{prefix:>14} {spinner} {elapsed:>4} {wide_msg}");
        let bar = self.styled(ProgressBar::new_spinner(), style, label);
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        bar
    }

    /// Returns the line of a run's progress; hidden where there are no bars.
    #[must_use]
    pub(crate) fn run_bar(&self, n_ops: u64) -> ProgressBar {
        let template = "{prefix} [{bar:16}] {pos}/{len}, {elapsed}, {left}{wide_msg}";
        let style = ProgressStyle::with_template(template);
        let style = style.map(|style| style.with_key("left", time_left));
        let bar = self.styled(ProgressBar::new(n_ops), style, "ops");
        bar.enable_steady_tick(std::time::Duration::from_secs(1));
        bar
    }

    /// Returns a place for lines below the other bars; hidden where there are no bars.
    #[must_use]
    pub(crate) fn lines_bar(&self) -> ProgressBar {
        self.styled(ProgressBar::new_spinner(), ProgressStyle::with_template("{msg}"), "")
    }

    fn styled(
        &self,
        bar: ProgressBar,
        style: Result<ProgressStyle, indicatif::style::TemplateError>,
        label: &str,
    ) -> ProgressBar {
        let Some(bars) = &self.bars else { return ProgressBar::hidden() };
        let bar = bars.add(bar);
        bar.set_style(style.expect("the templates are constants").progress_chars("=> "));
        bar.set_prefix(label.to_owned());
        bar
    }
}

/// Characters of a message at most, and of one of its lines: what it quotes may be a whole file.
const MESSAGE: usize = 16_000;
const LINE: usize = 2_000;

/// Returns a message with its longest lines and its end cut off.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= LINE {
        return Cow::Borrowed(text);
    }
    let cut = |text: &str, most: usize| match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}... ({} bytes more)", &text[..end], text.len() - end),
        None => text.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(|line| cut(line, LINE)).collect();
    Cow::Owned(cut(&lines.join("\n"), MESSAGE))
}

/// Writes an estimate of the time that is left, from the ops that are done.
fn time_left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let (done, all) = (state.pos(), state.len().unwrap_or_default());
    let written = match (done, all.saturating_sub(done)) {
        (0, _) => out.write_str("time left unknown"),
        (_, 0) => out.write_str("nothing left"),
        (done, left) => {
            let each = state.elapsed() / u32::try_from(done).unwrap_or(u32::MAX);
            let left = each * u32::try_from(left).unwrap_or(u32::MAX);
            write!(out, "about {} left", indicatif::HumanDuration(left))
        }
    };
    written.expect("a progress bar takes any text");
}

/// Returns the columns of a terminal; `None` where it is none: nothing is cut in a file or a pipe.
fn width_of(terminal: &Term) -> Option<usize> {
    let asked = env::COLUMNS.text().and_then(|text| text.parse().ok()).filter(|n| 0 < *n);
    let reported = || terminal.size_checked().map(|(_, columns)| usize::from(columns));
    terminal.is_term().then(|| asked.or_else(reported).unwrap_or(USUAL_WIDTH))
}

/// Columns of a terminal that does not report them.
const USUAL_WIDTH: usize = 80;

/// Returns whether a stream is a terminal that colours are asked for on.
fn has_color(stream: &impl IsTerminal) -> bool {
    let dumb = env::TERM.text().is_some_and(|term| term == "dumb");
    stream.is_terminal() && env::NO_COLOR.os().is_none() && !dumb
}

/// How a table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Format {
    // No doc comments: they would spread every help text over many lines.
    #[default]
    Table,
    Json,
}

/// Returns a value as JSON that can be printed.
pub(crate) fn json_text(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("kgen's own data turns into JSON");
    printable_json(&text)
}

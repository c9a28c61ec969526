//! Standard output and standard error: data to the one, everything else to the other.

use std::io::{self, IsTerminal, Write};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use kgen_settings::env;

use super::{CommandError, exit_codes::Exit};

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
    bars: Option<MultiProgress>,
}

impl Ui {
    /// Returns a printer; progress bars only where standard error is a terminal that can do them.
    #[must_use]
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        let dumb = env::TERM.text().is_some_and(|term| term == "dumb");
        let bars = io::stderr().is_terminal() && !dumb && verbosity != Verbosity::Quiet;
        Self { verbosity, bars: bars.then(MultiProgress::new) }
    }

    /// Prints data to standard output, a line end added.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written to; a reader that went away is no error.
    pub(crate) fn data(&self, text: &str) -> Result<(), CommandError> {
        let mut stdout = io::stdout().lock();
        let written = writeln!(stdout, "{}", text.trim_end()).and_then(|()| stdout.flush());
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
        if self.verbosity >= Verbosity::Normal {
            self.line(&format!("warning: {text}"));
        }
    }

    /// Prints to standard error a message that must be known even where nothing else is printed.
    pub(crate) fn announce(&self, text: &str) {
        self.line(text);
    }

    /// Prints a failure to standard error.
    pub(crate) fn error(&self, error: &CommandError) {
        self.line(&error.render());
    }

    /// Prints a line to standard error, above the progress bars.
    fn line(&self, text: &str) {
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

/// How a table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Format {
    // No doc comments: they would spread every help text over many lines.
    #[default]
    Table,
    Json,
}

/// Prints a value as JSON.
///
/// # Errors
///
/// As [`Ui::data`].
pub(crate) fn json(ui: &Ui, value: &impl serde::Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value).expect("kgen's own data turns into JSON");
    ui.data(&text)
}

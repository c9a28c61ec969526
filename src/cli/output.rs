//! The end of a command, results that are written into a file, pages that are opened in a browser.

use std::{
    ffi::OsStr,
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use kgen_process::{SYSTEM_ENV, Spec};
use kgen_settings::env;

use super::{
    CommandError, Context,
    exit_codes::Exit,
    schemas::Output,
    ui::{Ui, json_text},
};

/// Where a result goes.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// Write it into this file instead
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Make the page and open it in a browser
    #[arg(long)]
    pub(crate) open: bool,
}

/// Variables that a browser needs to find its display and its settings.
const DESKTOP_ENV: &[&str] =
    &["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "BROWSER", "DBUS_SESSION_BUS_ADDRESS", "XDG_*"];

/// Time that opening a file has to fail.
const PATIENCE: Duration = Duration::from_secs(3);

/// The program of desktops that opens a file as the user prefers.
const OPENER: &str = "xdg-open";

impl FileArgs {
    /// Returns the format to write: that of a page where one is to be opened.
    pub(crate) fn format<F: PartialEq + Default>(
        &self,
        asked: F,
        page: F,
    ) -> Result<F, CommandError> {
        if !self.open || asked == page {
            return Ok(asked);
        }
        if asked == F::default() {
            return Ok(page);
        }
        Err(CommandError::usage("--open opens a page, and another --format is asked for"))
    }

    /// Makes sure, before much work is done for it, that the file can be written.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let Some(file) = &self.output else { return Ok(()) };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let problem = if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            Some(io::Error::other(format!("there is no folder {}", folder.display())))
        } else if file.is_file() || file.is_dir() {
            // A pipe is left alone: its reader would take this for the end.
            OpenOptions::new().append(true).open(file).err()
        } else {
            None
        };
        problem.map_or(Ok(()), |error| Err(cannot_write(file, &error)))
    }

    /// Prints a result, or writes it into the file; a page that is to be opened goes into a file in any
    /// case, `name` in the folder of temporary files unless one is named.
    pub(crate) fn put<T: Output>(
        &self,
        context: &Context,
        data: &T,
        name: &str,
        text: impl FnOnce() -> String,
    ) -> Result<(), CommandError> {
        if let Some(draft) = context.ui.document() {
            draft.set(data, self.output.clone());
            return Ok(());
        }
        self.put_page(context, name, &text())
    }

    /// Does that with a page, of which there is no document.
    pub(crate) fn put_page(
        &self,
        context: &Context,
        name: &str,
        page: &str,
    ) -> Result<(), CommandError> {
        let file = match (&self.output, self.open) {
            (None, false) => return context.ui.data(page),
            (None, true) => std::env::temp_dir().join(name),
            (Some(file), _) => file.clone(),
        };
        write(&context.ui, &file, page)?;
        if self.open {
            open(context, &file);
        }
        Ok(())
    }
}

/// Ends a command: prints its failure and its document; returns the exit code.
#[must_use]
pub(crate) fn end(ui: &Ui, ended: Result<Exit, CommandError>) -> Exit {
    if ui.document().is_some_and(|draft| !draft.claim()) {
        // The document of a signal is on its way, and kgen ends with it.
        loop {
            std::thread::park();
        }
    }
    print(ui, ended)
}

/// Does that for the one who claimed the document.
pub(super) fn print(ui: &Ui, mut ended: Result<Exit, CommandError>) -> Exit {
    if let (Ok(exit), Some(draft)) = (&ended, ui.document())
        && let Some(file) = draft.file()
    {
        let text = json_text(&draft.document(*exit, None));
        match write(ui, &file, &(text + "\n")) {
            Ok(()) => return *exit,
            Err(error) => ended = Err(error),
        }
    }
    let (exit, error) = match &ended {
        Ok(exit) => (*exit, None),
        Err(error) => (error.kind, Some(error)),
    };
    if let Some(error) = error {
        ui.error(error);
    }
    let Some(draft) = ui.document() else { return exit };
    match ui.data(&json_text(&draft.document(exit, error))) {
        Ok(()) => exit,
        Err(error) => {
            ui.error(&error);
            error.kind
        }
    }
}

fn write(ui: &Ui, file: &Path, text: &str) -> Result<(), CommandError> {
    std::fs::write(file, text).map_err(|error| cannot_write(file, &error))?;
    ui.note(&format!("written to {}", file.display()));
    Ok(())
}

fn cannot_write(file: &Path, error: &io::Error) -> CommandError {
    CommandError::config(format!("cannot write {}: {error}", file.display()))
}

/// Opens a file in a browser; where that does not work, the file is there all the same.
fn open(context: &Context, file: &Path) {
    let is_there = env::PATH.paths().iter().any(|folder| folder.join(OPENER).is_file());
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    // A session of its own: the browser outlives kgen, which ends whatever is left of its children.
    let line = format!("exec setsid --wait {OPENER} \"$0\" </dev/null >/dev/null 2>&1");
    let mut spec = Spec::new("sh", std::env::temp_dir());
    spec = spec.args([OsStr::new("-c"), line.as_ref(), file.as_os_str()]);
    spec.inherit = vec![SYSTEM_ENV, DESKTOP_ENV];
    spec.deadline = PATIENCE;
    // One that is not over by then is the browser itself.
    let is_open = |output: kgen_process::Output| output.timed_out || output.status.is_success();
    if !is_there || !kgen_process::run(&spec).is_ok_and(is_open) {
        context.ui.warn(&format!("no browser was started ({OPENER} is missing or failed)"));
    }
}

//! Diagnostics of the crates below: warnings in the voice of the command line, or a log.

use std::fmt::{self, Write as _};

use kgen_settings::env;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter, Layer,
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

use super::ui::Ui;

/// Prints warnings of all crates as those of the command line. `-vv` and `KGEN_LOG` ask for a log
/// instead.
pub(crate) fn start(ui: &Ui, verbose: u8) {
    let asked = env::KGEN_LOG.text().or_else(|| (verbose >= 2).then(|| "kgen=debug".to_owned()));
    match asked {
        Some(filter) => {
            let log = tracing_subscriber::fmt::layer()
                .with_writer(std::io::stderr)
                .with_ansi(ui.notes().color)
                .with_filter(EnvFilter::new(filter));
            let warnings = Warnings { ui: ui.clone(), is_logged: true };
            let warnings = warnings.with_filter(EnvFilter::new("warn"));
            tracing_subscriber::registry().with(log).with(warnings).init();
        }
        None => {
            let warnings = Warnings { ui: ui.clone(), is_logged: false };
            let warnings = warnings.with_filter(EnvFilter::new("warn"));
            tracing_subscriber::registry().with(warnings).init();
        }
    }
}

/// Prints every event as a warning.
struct Warnings {
    ui: Ui,
    /// Whether a log prints them already.
    is_logged: bool,
}

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::WARN {
            return;
        }
        match self.is_logged {
            true => self.ui.keep_warning(&text(event)),
            false => self.ui.warn(&text(event)),
        }
    }
}

/// Returns an event in one line: its message, and its values in brackets.
fn text(event: &Event<'_>) -> String {
    let mut said = Said::default();
    event.record(&mut said);
    let Said { message, values } = said;
    if values.is_empty() { message } else { format!("{message} ({values})") }
}

#[derive(Default)]
struct Said {
    message: String,
    values: String,
}

impl Said {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if field.name() == "message" {
            self.message = value.to_string();
            return;
        }
        let comma = if self.values.is_empty() { "" } else { ", " };
        let name = field.name().trim_end_matches("_s").replace('_', " ");
        // A field of an error needs no name: it says itself what is wrong.
        let written = if name == "error" {
            write!(self.values, "{comma}{value}")
        } else {
            write!(self.values, "{comma}{name} {value}")
        };
        written.expect("a string takes any text");
    }
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        let unit = if field.name().ends_with("_s") { " s" } else { "" };
        self.add(field, format_args!("{value:.1}{unit}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Keeps the texts of events.
    struct Kept(Arc<Mutex<Vec<String>>>);

    impl<S: Subscriber> Layer<S> for Kept {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            self.0.lock().unwrap().push(text(event));
        }
    }

    #[test]
    fn a_warning_has_its_message_and_its_values_and_no_path_of_a_module() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::registry().with(Kept(Arc::clone(&kept)));
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(calls = 3, "fewer calls at once");
            let (error, status) = ("it is gone", "429");
            tracing::warn!(%error, after_s = 1.5, status, "a call is sent again");
            tracing::warn!("a worker did not end");
        });
        assert_eq!(
            *kept.lock().unwrap(),
            [
                "fewer calls at once (calls 3)",
                "a call is sent again (it is gone, after 1.5 s, status 429)",
                "a worker did not end"
            ]
        );
    }
}

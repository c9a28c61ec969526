//! The evidence that a figure needs: a few samples, or a program of a few milliseconds, make no finding.

use super::{Report, lines::time};

/// The evidence that a figure rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Basis {
    /// Nothing that a short run lacks.
    Any,
    /// Samples of functions, or times of operators.
    Functions,
    /// The command's duration.
    Duration,
    /// Events of a counter, at least so many.
    Events(&'static str, f64),
    /// The time from the first to the last activity of a GPU.
    Span,
}

const LEAST_SAMPLES: f64 = 100.0;

/// Own time of all operators, in microseconds.
const LEAST_OPERATORS_US: f64 = 10e3;

const LEAST_DURATION_S: f64 = 0.1;

const LEAST_SPAN_US: f64 = 10e3;

impl Basis {
    /// Names the least evidence; nothing where none is needed.
    pub(super) fn least(self) -> String {
        match self {
            Self::Any => String::new(),
            Self::Functions => format!("{LEAST_SAMPLES} samples"),
            Self::Duration => format!("{:.0} ms", 1e3 * LEAST_DURATION_S),
            Self::Events(counter, least) => format!("{least:.0} {counter}"),
            Self::Span => format!("{:.0} ms of GPU", LEAST_SPAN_US / 1e3),
        }
    }

    /// Says how far the evidence of a report is from enough; `None` where it is enough or unknown.
    pub(super) fn lack(self, report: &Report) -> Option<String> {
        let below = |there: Option<f64>, least: f64| there.filter(|there| *there < least);
        let needed = self.least();
        match self {
            Self::Any => None,
            Self::Functions => lack_of_functions(report),
            Self::Duration => {
                let there = below(report.duration_s(), LEAST_DURATION_S)?;
                Some(format!("{} of the {needed}", time(1e6 * there)))
            }
            Self::Events(counter, least) => {
                let there = below(report.counter(counter), least)?;
                Some(format!("{there:.0} of the {needed}"))
            }
            Self::Span => {
                let there = below(report.span_us, LEAST_SPAN_US)?;
                Some(format!("{} of the {needed}", time(there)))
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is compared with a hundred")]
fn lack_of_functions(report: &Report) -> Option<String> {
    let functions = &report.functions;
    let sampled: Option<u64> =
        functions.iter().filter_map(|function| function.samples).reduce(|a, b| a + b);
    if let Some(samples) = sampled {
        let is_short = (samples as f64) < LEAST_SAMPLES;
        return is_short.then(|| format!("{samples} of the {LEAST_SAMPLES} samples"));
    }
    let times = functions.iter().flat_map(|function| [function.cpu_us, function.gpu_us]);
    let us = times.flatten().reduce(|a, b| a + b).filter(|us| *us < LEAST_OPERATORS_US)?;
    Some(format!("{} of the {:.0} ms in operators", time(us), LEAST_OPERATORS_US / 1e3))
}

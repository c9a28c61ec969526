//! The text of `perf script`.
//!
//! A sample is a line with the command, the process, the time, the period and the event, then a line
//! per frame, innermost first, then an empty line. Without call graphs the frame is in the first line.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::UNKNOWN;

/// Frames of a stack that are kept, from its root.
const MAX_DEPTH: usize = 200;

/// Samples by function and by stack.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// Samples.
    pub count: u64,
    /// Their events.
    pub events: BTreeSet<String>,
    /// Weight and samples by function and module, of the innermost frames.
    pub functions: BTreeMap<(String, String), (f64, u64)>,
    /// Samples by stack: command and functions from the root, joined by `;`.
    pub stacks: BTreeMap<String, u64>,
}

/// A frame: function and module.
type Frame = (String, String);

#[derive(Default)]
struct Sample {
    command: String,
    event: String,
    weight: f64,
    /// Innermost first.
    frames: Vec<Frame>,
}

/// Reads the samples; those of perf itself, before it starts the command, are left out.
#[must_use]
pub fn samples(text: &str) -> Samples {
    let mut samples = Samples::default();
    let mut open: Option<Sample> = None;
    for line in text.lines() {
        if line.trim().is_empty() {
            samples.add(open.take());
        } else if line.starts_with([' ', '\t']) && open.is_some() {
            if let (Some(sample), Some(frame)) = (&mut open, frame(line)) {
                sample.frames.push(frame);
            }
        } else if let Some(sample) = header(line) {
            samples.add(open.take());
            open = Some(sample);
        }
    }
    samples.add(open);
    samples
}

impl Samples {
    fn add(&mut self, sample: Option<Sample>) {
        let Some(sample) = sample else { return };
        if ["perf", "perf-exec"].contains(&sample.command.as_str()) {
            return;
        }
        let unknown = || (UNKNOWN.to_owned(), String::new());
        self.count += 1;
        let function = sample.frames.first().cloned().unwrap_or_else(unknown);
        let (weight, count) = self.functions.entry(function).or_default();
        *weight += sample.weight;
        *count += 1;
        *self.stacks.entry(sample.stack().join(";")).or_default() += 1;
        self.events.insert(sample.event);
    }
}

impl Sample {
    /// Returns the command and the functions from the root. Functions without a symbol are one frame per module, and
    /// addresses outside of all modules, which code without frame pointers leaves on the stack, are left out.
    fn stack(&self) -> Vec<String> {
        let mut stack = vec![self.command.replace(';', ":")];
        for (name, module) in self.frames.iter().rev() {
            let is_unknown = name == UNKNOWN;
            let module = module.trim_matches(['[', ']']);
            let label = match (is_unknown, module) {
                (false, _) => name.replace(';', ":"),
                (true, "" | "unknown") => continue,
                (true, module) => format!("[{module}]"),
            };
            if !(is_unknown && stack.last() == Some(&label)) {
                stack.push(label);
            }
        }
        stack.truncate(MAX_DEPTH);
        stack
    }
}

/// Reads `sh 16234/16235 [001] 26556.053604: 2004008 cpu-clock:u: `, and the frame behind it if there is one.
fn header(line: &str) -> Option<Sample> {
    let (command, rest) = split_at_pid(line.trim_start())?;
    let (time, rest) = rest.split_once(": ")?;
    let time = time.split_whitespace().last()?;
    time.parse::<f64>().ok()?;
    let rest = rest.trim_start();
    let (period, rest) = match rest.split_once(char::is_whitespace) {
        Some((period, rest)) if period.parse::<f64>().is_ok() => (period.parse().ok(), rest),
        _ => (None, rest),
    };
    let (event, rest) = rest.trim_start().split_once(':')?;
    // Modifiers such as `u:` and the blank that follows them.
    let rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
    Some(Sample {
        command: command.to_owned(),
        event: event.to_owned(),
        weight: period.unwrap_or(1.0),
        frames: frame(rest).into_iter().collect(),
    })
}

/// Splits behind the command, which may hold blanks, at `pid` or `pid/tid`.
fn split_at_pid(line: &str) -> Option<(&str, &str)> {
    let is_pid =
        |word: &str| !word.is_empty() && word.split('/').all(|part| part.parse::<u32>().is_ok());
    let mut from = line.find(char::is_whitespace)?;
    loop {
        let rest = line[from..].trim_start();
        let word = rest.split_whitespace().next()?;
        if is_pid(word) {
            return Some((line[..from].trim_end(), &rest[word.len()..]));
        }
        from = line.len() - rest.len() + word.len();
    }
}

/// Reads `ffffffff81691505 __mem_cgroup_charge+0x5 ([kernel.kallsyms])`.
fn frame(line: &str) -> Option<Frame> {
    let (address, rest) = line.trim().split_once(' ')?;
    u64::from_str_radix(address, 16).ok()?;
    let (symbol, module) = match rest.rsplit_once(" (") {
        Some((symbol, module)) => (symbol, module.trim_end_matches(')')),
        None => (rest, ""),
    };
    let symbol = symbol.rsplit_once("+0x").map_or(symbol, |(name, _)| name).trim();
    let module = module.rsplit('/').next().unwrap_or(module);
    Some((symbol.to_owned(), module.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
perf 1 26556.053604:    2004008 cpu-clock:
\tffffffff81691505 __mem_cgroup_charge+0x5 ([kernel.kallsyms])

my app 16234/16235 [001] 26556.055603:    2000000 cycles:u:
\t           224dc void f<int>(char const*, int)+0x3c (/usr/lib/libx.so.6)
\t            1000 main+0x10 (/usr/bin/app)

my app 16234 26556.057580:    1000000 cycles:u:
\t            90c0 [unknown] (/usr/lib/libx.so.6)
\t            90c0 [unknown] (/usr/lib/libx.so.6)
\t            90c0 [unknown] ([unknown])
\t            1000 main+0x10 (/usr/bin/app)
";

    #[test]
    fn stacks_are_folded_from_the_root() {
        let samples = samples(TEXT);
        assert_eq!(samples.count, 2);
        let f = ("void f<int>(char const*, int)".to_owned(), "libx.so.6".to_owned());
        assert_eq!(samples.functions[&f], (2e6, 1));
        let stacks: Vec<&str> = samples.stacks.keys().map(String::as_str).collect();
        assert_eq!(
            stacks,
            ["my app;main;[libx.so.6]", "my app;main;void f<int>(char const*, int)"]
        );
        assert_eq!(samples.events.iter().next().map(String::as_str), Some("cycles"));
    }

    #[test]
    fn samples_without_call_graphs_have_one_frame() {
        let text = "sh 7 1.5: 250000 cpu-clock:pppH:  ffffffff8 do_idle+0x1 ([kernel.kallsyms])\n\
                    sh 7 1.6: 250000 cpu-clock:pppH:  ffffffff8 do_idle+0x1 ([kernel.kallsyms])\n";
        let samples = samples(text);
        let stacks: Vec<(&str, u64)> =
            samples.stacks.iter().map(|(stack, n)| (stack.as_str(), *n)).collect();
        assert_eq!(stacks, [("sh;do_idle", 2)]);
    }

    #[test]
    fn other_texts_have_no_samples() {
        for text in ["", "hello world", "a 1 b", "\tffff f (x)", "{\"a\": 1}", "a 1 2.0: 3"] {
            assert_eq!(samples(text).count, 0, "{text:?}");
        }
    }
}

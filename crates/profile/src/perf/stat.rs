//! The CSV of `perf stat -x`.

use std::collections::BTreeMap;

use crate::number::number;

/// Reads counters by event; those that the machine lacks or that never ran are `None`.
///
/// `task-clock` is in milliseconds, `duration_time`, the command's own, in nanoseconds; `cpus-utilized`, which perf derives from it, is a counter here. The counts
/// of the kinds of core of a hybrid processor are added up.
#[must_use]
pub fn counters(text: &str) -> BTreeMap<String, Option<f64>> {
    let mut counters = BTreeMap::<String, Option<f64>>::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let separator = if line.contains(';') { ';' } else { ',' };
        let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
        let [value, _unit, event, _, _, rest @ ..] = fields.as_slice() else { continue };
        let value = match *value {
            "<not supported>" | "<not counted>" => None,
            value => match number(value) {
                Some(value) => Some(value),
                None => continue,
            },
        };
        let (event, modifiers) = event_name(event);
        if event.is_empty() {
            continue;
        }
        // The kernel switches threads: where its part is not counted, the count is always 0.
        let is_blind = modifiers.contains('u') && OF_KERNEL.contains(&event);
        let value = value.filter(|_| !is_blind);
        if event == "task-clock"
            && let [cpus, unit, ..] = rest
            && unit.contains("CPUs")
        {
            counters.insert("cpus-utilized".to_owned(), number(cpus));
        }
        let sum = counters.entry(event.to_owned()).or_default();
        *sum = match (*sum, value) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
    }
    counters
}

/// Events that happen in the kernel alone.
const OF_KERNEL: [&str; 2] = ["context-switches", "cpu-migrations"];

/// Splits an event from its modifiers, and drops the kind of core: `cpu_core/cycles/u`, `cycles:u`.
fn event_name(event: &str) -> (&str, &str) {
    let inside = event.split_once('/').map_or(event, |(_, inside)| inside);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
    inside.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIRTUAL: &str = "# started on Fri Nov 27 22:00:29 2026\n
1.19,msec,task-clock,1192867,100.00,0.011,CPUs utilized
1,,context-switches,1192867,100.00,838.316,/sec
75,,page-faults,1192867,100.00,62.874,K/sec
<not supported>,,cycles,0,100.00,,
<not counted>,,instructions,0,100.00,,
";

    #[test]
    fn missing_counters_are_not_zero() {
        let counters = counters(VIRTUAL);
        assert_eq!(counters["task-clock"], Some(1.19));
        assert_eq!(counters["cpus-utilized"], Some(0.011));
        assert_eq!(counters["page-faults"], Some(75.0));
        assert_eq!((counters["cycles"], counters["instructions"]), (None, None));
        assert_eq!(counters.get("branches"), None);
    }

    #[test]
    fn kinds_of_core_are_added_up_and_other_separators_are_read() {
        let text = "100;;cpu_core/cycles/u;1;100.00;;\n20;;cpu_atom/cycles/u;1;100.00;;\n\
                    <not counted>;;cpu_lowpower/cycles/;0;0.00;;\n7;;branches:u;1;100.00;;\n\
                    0;;context-switches:u;1;100.00;;\n";
        let counters = counters(text);
        assert_eq!((counters["cycles"], counters["branches"]), (Some(120.0), Some(7.0)));
        assert_eq!(counters["context-switches"], None);
    }

    #[test]
    fn other_texts_have_no_counters() {
        for text in ["", "hello", "a,b,c,d,e,f", "1,2", ";;;;;;", "\u{0}\u{1}"] {
            assert!(counters(text).is_empty(), "{text:?}");
        }
    }
}

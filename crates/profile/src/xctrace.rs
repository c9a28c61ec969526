//! XML exports of xctrace.
//!
//! A table is a `schema` with its columns, then rows whose elements stand in the order of the columns. An
//! element that occurred before, anywhere in the file, is written as a reference to its `id`. A `node` without
//! a schema goes on with the one before.

use std::collections::{BTreeMap, HashMap};

use roxmltree::{Document, Node};

use crate::{
    ReadError,
    report::{Report, Timeline, Tool, UNKNOWN, hot_functions},
};

const FORM: &str = "XML export of xctrace";

/// The tables that are read here, for `xctrace export --xpath`.
pub const XPATH: &str = "/trace-toc/run[@number=\"1\"]/data/table[@schema=\"metal-gpu-intervals\" or \
    @schema=\"time-profile\" or @schema=\"gpu-counter-info\" or @schema=\"gpu-counter-value\"]";

/// The command that exports a table.
const EXPORT: &str = "xctrace export --input FILE.trace --output FILE.xml --xpath \
    '/trace-toc/run[@number=\"1\"]/data/table[@schema=\"metal-gpu-intervals\"]'";

/// Columns that may name an interval of the GPU, the best first.
const LABELS: [&str; 5] = ["encoder-label", "event-label", "label", "function", "channel-name"];

/// Reads an export.
///
/// # Errors
///
/// [`ReadError::Malformed`] for anything but XML, [`ReadError::NotExported`] for a table of contents, and
/// [`ReadError::NoTable`] where none of the tables has GPU intervals, samples or counters.
pub fn report(text: &str) -> Result<Report, ReadError> {
    let document = Document::parse(text).map_err(|error| ReadError::malformed(FORM, error))?;
    if document.root_element().has_tag_name("trace-toc") {
        return Err(ReadError::NotExported {
            form: "a table of contents of xctrace",
            command: EXPORT,
        });
    }
    let ids = document.descendants().filter_map(|node| Some((node.attribute("id")?, node)));
    let mut reader = Reader { ids: ids.collect(), ..Reader::default() };
    let mut schema = Schema::default();
    let mut schemas = Vec::new();
    for node in document.descendants() {
        match node.tag_name().name() {
            "schema" => {
                schema = Schema::of(node);
                schemas.push(schema.name);
            }
            "row" => reader.row(&schema, node),
            _ => {}
        }
    }
    if schemas.is_empty() {
        return Err(ReadError::NoTable(format!("it has no table; export some: {EXPORT}")));
    }
    reader.report().ok_or_else(|| {
        ReadError::NoTable(format!(
            "it has rows neither of GPU intervals nor of samples nor of counters, but the tables {}",
            schemas.join(", ")
        ))
    })
}

/// A table's name and columns.
#[derive(Default)]
struct Schema<'a> {
    name: &'a str,
    columns: Vec<&'a str>,
}

impl<'a> Schema<'a> {
    fn of(node: Node<'a, '_>) -> Self {
        let columns = node.children().filter(|child| child.has_tag_name("col"));
        let mnemonic = |column: Node<'a, '_>| {
            let mnemonic = column.children().find(|child| child.has_tag_name("mnemonic"));
            mnemonic.and_then(|node| node.text()).unwrap_or_default()
        };
        Self {
            name: node.attribute("name").unwrap_or_default(),
            columns: columns.map(mnemonic).collect(),
        }
    }
}

/// The elements of a row, by column.
type Cells<'a, 'i> = HashMap<&'a str, Node<'a, 'i>>;

#[derive(Default)]
struct Reader<'a, 'i> {
    ids: HashMap<&'a str, Node<'a, 'i>>,
    timeline: Timeline,
    functions: BTreeMap<(String, String), (f64, u64)>,
    stacks: BTreeMap<String, u64>,
    counter_names: HashMap<String, String>,
    counters: BTreeMap<String, (f64, u32)>,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Returns the element that a reference names, or the element itself.
    fn resolved(&self, node: Node<'a, 'i>) -> Node<'a, 'i> {
        node.attribute("ref").and_then(|id| self.ids.get(id)).copied().unwrap_or(node)
    }

    fn row(&mut self, schema: &Schema<'a>, row: Node<'a, 'i>) {
        let elements = row.children().filter(Node::is_element);
        let cells: Cells<'a, 'i> = schema
            .columns
            .iter()
            .zip(elements)
            .filter(|(_, node)| !node.has_tag_name("sentinel"))
            .map(|(name, node)| (*name, self.resolved(node)))
            .collect();
        match schema.name {
            name if name.contains("gpu-intervals") => self.interval(&cells),
            "time-profile" | "time-sample" => self.sample(&cells),
            "gpu-counter-info" => self.counter_name(&cells),
            name if name.contains("counter") => self.counter(&cells),
            _ => {}
        }
    }

    fn interval(&mut self, cells: &Cells<'a, 'i>) {
        let is_active = cells.get("state").is_none_or(|state| shown(*state) == "Active");
        let start = cells.get("start").and_then(|node| number(*node));
        let duration = cells.get("duration").and_then(|node| number(*node));
        let (Some(start), Some(duration), true) = (start, duration, is_active) else { return };
        let labels = LABELS.iter().filter_map(|column| cells.get(column));
        let label = labels.map(|node| label(*node)).find(|label| !label.is_empty());
        let label = label.unwrap_or("[unlabelled]");
        let process = cells.get("process").map(|node| self.resolved(*node));
        let name = match process.map(shown) {
            Some(process) if !process.is_empty() => format!("{label} [{process}]"),
            _ => label.to_owned(),
        };
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds from the trace's start")]
        self.timeline.kernel(&name, 0, start as i64, (start + duration) as i64);
    }

    fn sample(&mut self, cells: &Cells<'a, 'i>) {
        let Some(stack) = cells.get("stack").or_else(|| cells.get("backtrace")) else { return };
        let nested = stack.children().find(|node| node.has_tag_name("backtrace"));
        let backtrace = nested.map_or(*stack, |node| self.resolved(node));
        let frames = backtrace.children().filter(|node| node.has_tag_name("frame"));
        let frames: Vec<Node<'a, 'i>> = frames.map(|frame| self.resolved(frame)).collect();
        let name = |frame: &Node<'a, 'i>| frame.attribute("name").unwrap_or(UNKNOWN).to_owned();
        let Some(leaf) = frames.first() else { return };
        let binary = leaf.children().find(|node| node.has_tag_name("binary"));
        let binary = binary.and_then(|node| self.resolved(node).attribute("name"));
        let weight = cells.get("weight").and_then(|node| number(*node)).unwrap_or(1.0);
        let function = (name(leaf), binary.unwrap_or_default().to_owned());
        let sum = self.functions.entry(function).or_default();
        sum.0 += weight;
        sum.1 += 1;
        let path: Vec<String> =
            frames.iter().rev().map(|frame| name(frame).replace(';', ":")).collect();
        *self.stacks.entry(path.join(";")).or_default() += 1;
    }

    fn counter_name(&mut self, cells: &Cells<'a, 'i>) {
        if let (Some(id), Some(name)) = (cells.get("counter-id"), cells.get("name")) {
            self.counter_names.insert(shown(*id).to_owned(), shown(*name).to_owned());
        }
    }

    fn counter(&mut self, cells: &Cells<'a, 'i>) {
        let named = ["name", "label", "counter-id"].iter().find_map(|column| cells.get(column));
        let value = cells.get("value").and_then(|node| number(*node));
        if let (Some(name), Some(value)) = (named, value) {
            let sum = self.counters.entry(shown(*name).to_owned()).or_default();
            sum.0 += value;
            sum.1 += 1;
        }
    }

    /// Returns the report; `None` where no row was read.
    fn report(self) -> Option<Report> {
        if self.timeline.is_empty() && self.functions.is_empty() && self.counters.is_empty() {
            return None;
        }
        let mut report = Report::new(Tool::Xctrace);
        self.timeline.write_into(&mut report);
        report.functions = hot_functions(self.functions);
        report.stacks = self.stacks;
        let names = self.counter_names;
        let counters = self.counters.into_iter().map(|(id, (sum, n))| {
            let name = names.get(&id).cloned().unwrap_or(id);
            (format!("{name} (mean)"), Some(sum / f64::from(n)))
        });
        report.counters = counters.collect();
        Some(report)
    }
}

/// Returns an element's text, or the text that Instruments shows for it.
fn shown<'a>(node: Node<'a, '_>) -> &'a str {
    node.attribute("fmt").or_else(|| node.text()).unwrap_or_default().trim()
}

fn number(node: Node<'_, '_>) -> Option<f64> {
    node.text()?.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// Returns a label without its process and address, and without the number of its command buffer.
fn label<'a>(node: Node<'a, '_>) -> &'a str {
    let text = shown(node);
    let text = text.split(" ( ").next().unwrap_or(text);
    let text = text.rsplit_once(" 0x").map_or(text, |(text, _)| text);
    match text.strip_prefix("Command Buffer ").and_then(|rest| rest.split_once(':')) {
        Some((_, command)) => command.trim(),
        None => text.trim(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "the times are small whole numbers")]

    use super::*;

    const INTERVALS: &str = r#"<?xml version="1.0"?><trace-query-result>
        <node xpath="//trace-toc[1]/run[1]/data[1]/table[1]"><schema name="metal-gpu-intervals">
        <col><mnemonic>start</mnemonic></col><col><mnemonic>duration</mnemonic></col>
        <col><mnemonic>event-label</mnemonic></col><col><mnemonic>state</mnemonic></col>
        <col><mnemonic>process</mnemonic></col></schema>
        <row><start-time id="1">1000</start-time><duration id="2">4000</duration>
          <formatted-label id="3" fmt="Command Buffer 7:softmax ( app (42) ) 0xab"><process id="9" fmt="app (42)"/>
          </formatted-label><gpu-state id="4" fmt="Active">Active</gpu-state><process ref="9"/></row></node>
        <node><row><start-time id="5">9000</start-time><duration ref="2"/><formatted-label ref="3"/>
          <gpu-state ref="4"/><process ref="9"/></row>
        <row><start-time id="6">20000</start-time><duration ref="2"/><formatted-label ref="3"/>
          <gpu-state id="7" fmt="Idle">Idle</gpu-state><sentinel/></row></node></trace-query-result>"#;

    #[test]
    fn references_are_followed_and_schemas_go_on() {
        let report = report(INTERVALS).unwrap();
        let kernel = &report.kernels[0];
        assert_eq!((kernel.name.as_str(), kernel.calls), ("softmax [app (42)]", 2));
        assert_eq!((kernel.total_us, report.span_us), (8.0, Some(12.0)));
        assert_eq!(report.gaps[0].duration_us, 4.0);
    }

    #[test]
    fn samples_and_counters_are_read() {
        let text = r#"<trace-query-result><node><schema name="time-profile">
            <col><mnemonic>time</mnemonic></col><col><mnemonic>weight</mnemonic></col>
            <col><mnemonic>stack</mnemonic></col></schema>
            <row><sample-time>1</sample-time><weight id="1">1000000</weight><tagged-backtrace><backtrace id="2">
              <frame id="3" name="f"><binary id="4" name="libx.dylib"/></frame><frame id="5" name="main"/>
            </backtrace></tagged-backtrace></row>
            <row><sample-time>2</sample-time><weight ref="1"/><backtrace ref="2"/></row></node>
            <node><schema name="gpu-counter-info"><col><mnemonic>counter-id</mnemonic></col>
              <col><mnemonic>name</mnemonic></col></schema><row><uint64>5</uint64>
              <string>Compute Occupancy</string></row></node>
            <node><schema name="gpu-counter-value"><col><mnemonic>counter-id</mnemonic></col>
              <col><mnemonic>value</mnemonic></col></schema><row><uint64>5</uint64><d>40</d></row>
              <row><uint64>5</uint64><d>60</d></row></node></trace-query-result>"#;
        let report = report(text).unwrap();
        assert_eq!(report.functions[0].module.as_deref(), Some("libx.dylib"));
        assert_eq!(report.functions[0].samples, Some(2));
        assert_eq!(report.stacks["main;f"], 2);
        assert_eq!(report.counters["Compute Occupancy (mean)"], Some(50.0));
    }

    #[test]
    fn exports_without_tables_are_refused() {
        let refused = |text: &str| report(text).unwrap_err().to_string();
        assert!(refused("<trace-query-result/>").contains("it has no table"));
        assert!(refused("<trace-toc><run number=\"1\"/></trace-toc>").contains("xctrace export"));
        assert!(refused("<a><schema name=\"os-log\"/><row/></a>").contains("os-log"));
        assert!(refused("<a><b>").contains("XML export of xctrace"));
    }
}

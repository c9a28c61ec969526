//! The text of a definition.

use std::fmt::Write as _;

use kgen_ops::{
    op::OpFamily,
    record::{ArgValue, DType},
};

use crate::{
    ImportError,
    bind::{BoundArg, BoundNode, Graph, dtype},
    name::name,
    symbols::Symbols,
    trace::{Init, Place, Role, Tensor, TensorKind, Trace, Variant},
};

/// Distributions of a small case: the module's own, and others.
const DISTRIBUTIONS: &str = r#"["normal", "heavy_tail", "zeros", "specials"]"#;

/// The same for modules with a norm: the rows of zeros that a norm sees have no variance, and the roundings
/// of any honest kernel are then multiplied by the root of 1 / eps.
const WITH_NORM: &str = r#"["normal", "heavy_tail", "specials"]"#;

/// Returns a text as TOML spells it.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Returns a text over several lines, as readable as it can be.
pub(crate) fn block(text: &str) -> String {
    let plain = !text.contains("'''")
        && text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control())
        && !text.ends_with('\'');
    if plain { format!("'''\n{text}'''") } else { quoted(text) }
}

/// The text of a definition in parts: lines of the last table of the first may come between them.
pub(crate) struct Written {
    /// All but the cases; the last table is that of the module.
    pub(crate) head: String,
    pub(crate) cases: String,
}

impl Written {
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.head, self.cases)
    }
}

/// Writes the definition.
pub(crate) fn write(
    trace: &Trace,
    op: &str,
    graphs: &[Graph],
    symbols: &Symbols,
) -> Result<Written, ImportError> {
    let mut text = String::new();
    let writer = Writer { trace, graphs, symbols };
    let mode = if trace.train { "training" } else { "evaluation" };
    let of = match &trace.inputs {
        Some(_) => format!("The result of the PyTorch function `{}`.", trace.class),
        None => format!(
            "The result of `forward` of the PyTorch module `{}` in {mode} mode; its parameters are \
             arguments.",
            trace.class
        ),
    };
    let semantics = trace.notes.iter().fold(of, |text, note| format!("{text}\n{note}"));
    let mut line = |line: &str| writeln!(text, "{line}").expect("a string grows");
    line("format = 1");
    line(&format!("name = {}", quoted(op)));
    line(&format!("semantics = {}", block(&format!("{semantics}\n"))));
    line("dtypes = [\"f32\"]");
    line("\n[tensors]");
    for place in 0..graphs[0].tensors.len() {
        line(&writer.tensor(place)?);
    }
    if !symbols.integers.is_empty() || !symbols.floats.is_empty() {
        line("\n[scalars]");
        for integer in &symbols.integers {
            line(&format!("{} = {}", integer.name, integer.values[0]));
        }
        for (name, values) in &symbols.floats {
            line(&format!("{name} = {:?}", values[0]));
        }
    }
    line("\n[outputs]");
    for index in 0..trace.variants[0].results.len() {
        line(&writer.result(index)?);
    }
    for index in 0..graphs[0].outputs.len() {
        let result = match graphs[0].outputs.len() {
            1 => "the result".to_owned(),
            _ => format!("result {index}"),
        };
        line(&format!("{} = {}", writer.output(index), quoted(&result)));
    }
    line("\n[reference]");
    match trace.is_opaque() {
        true => line("module = true"),
        false => line(&format!("graph = '''\n{}'''", writer.graph()?)),
    }
    line("\n[module]");
    line(&format!("file = {}", quoted(&trace.file)));
    line(&format!("sha256 = {}", quoted(&trace.sha256)));
    line(&format!("class = {}", quoted(&trace.class)));
    if let Some(inputs) = &trace.inputs {
        line(&format!("inputs = {}", quoted(inputs)));
    }
    line(&format!("torch = {}", quoted(&trace.torch)));
    line(&format!("train = {}", trace.train));
    line("variants = [");
    // Drawn versions are no cases.
    let is_case = |variant: &&Variant| variant.role != Role::Drawn;
    for variant in trace.variants.iter().filter(is_case) {
        let integers = variant.constants.iter().filter(|(_, value)| value.is_i64());
        let integers: Vec<String> =
            integers.map(|(name, value)| format!("{} = {value}", quoted(name))).collect();
        line(&format!("  {{ {} }},", integers.join(", ")));
    }
    line("]");
    line(&format!("source = {}", block(&trace.source)));
    let places = 0..trace.variants.len();
    let places = places.filter(|&place| is_case(&&trace.variants[place]));
    let cases = places.map(|place| format!("{}\n", writer.case(place))).collect();
    Ok(Written { head: text, cases })
}

struct Writer<'a> {
    trace: &'a Trace,
    graphs: &'a [Graph],
    symbols: &'a Symbols,
}

impl Writer<'_> {
    /// Declares a result of a module without a graph.
    fn result(&self, index: usize) -> Result<String, ImportError> {
        let wrong =
            |reason: String| ImportError::Tensor { name: format!("result {index}"), reason };
        let all = || self.trace.variants.iter().map(|variant| &variant.results[index]);
        let results = &self.trace.variants[0].results;
        let of = dtype(results[index].dtype)
            .ok_or_else(|| wrong("kgen does not have its dtype".to_owned()))?;
        let prefix = if of == DType::F32 { "" } else { of.name() };
        let dims = (0..results[index].shape.len()).map(|dim| {
            let values: Vec<i64> = all().map(|result| result.shape[dim] as i64).collect();
            let fixed = values.iter().all(|value| *value == values[0]);
            let text = match fixed {
                true => Some(values[0].to_string()),
                false => self.symbols.by_extents(&values),
            };
            text.ok_or_else(|| {
                wrong(format!("dimension {dim} does not follow from those of the inputs"))
            })
        });
        let shape = format!("{prefix}[{}]", dims.collect::<Result<Vec<_>, _>>()?.join(", "));
        let name = if results.len() == 1 { "out".to_owned() } else { format!("out{index}") };
        Ok(format!("{name} = {{ shape = {}, text = \"the result\" }}", quoted(&shape)))
    }

    fn tensor(&self, place: usize) -> Result<String, ImportError> {
        let tensor = &self.graphs[0].tensors[place];
        let wrong = |reason: &str| ImportError::Tensor {
            name: tensor.path.clone().unwrap_or_else(|| tensor.name.clone()),
            reason: reason.to_owned(),
        };
        let of = dtype(tensor.dtype).ok_or_else(|| wrong("kgen does not have its dtype"))?;
        let prefix = if of == DType::F32 { "" } else { of.name() };
        let dims = (0..tensor.shape.len()).map(|dim| {
            let values: Vec<i64> =
                self.graphs.iter().map(|graph| graph.tensors[place].shape[dim] as i64).collect();
            self.symbols.text(&values)
        });
        let shape = format!("{prefix}[{}]", dims.collect::<Vec<_>>().join(", "));
        let init = self.init(tensor, place).map_err(|reason| wrong(&reason))?;
        let mut parts =
            vec![format!("shape = {}", quoted(&shape)), format!("init = {}", quoted(&init))];
        match (tensor.kind, &tensor.path) {
            (TensorKind::Input, _) if of == DType::Bool => parts.push("role = \"mask\"".to_owned()),
            (TensorKind::Input, _) => {}
            (_, Some(path)) => parts.push(format!("path = {}", quoted(path))),
            (_, None) => parts.push("role = \"constant\"".to_owned()),
        }
        Ok(format!("{} = {{ {} }}", name(&tensor.name), parts.join(", ")))
    }

    fn init(&self, tensor: &Tensor, place: usize) -> Result<String, String> {
        Ok(match &tensor.init {
            Init::Uniform { low, high, structure: Some(structure) } => {
                format!("uniform({low:?}, {high:?}, {structure})")
            }
            Init::Uniform { low, high, structure: None } => format!("uniform({low:?}, {high:?})"),
            Init::Normal { structure: Some(structure), .. } => {
                return Err(format!("normally distributed and {structure}"));
            }
            Init::Normal { mean, std, structure: None } => format!("normal({mean:?}, {std:?})"),
            Init::Fill { value } => format!("fill({value:?})"),
            Init::Bernoulli { scale: Some(2.0), offset: Some(-1.0), .. }
            | Init::Integers { low: 0, high: 2, scale: Some(2.0), offset: Some(-1.0) } => {
                "sign()".to_owned()
            }
            Init::Bernoulli { scale, offset, .. } | Init::Integers { scale, offset, .. }
                if scale.is_some() || offset.is_some() =>
            {
                return Err("integers that are scaled or moved".to_owned());
            }
            Init::Bernoulli { p, .. } => format!("bernoulli({p:?})"),
            Init::Integers { low, .. } => {
                let high = self.graphs.iter().map(|graph| match graph.tensors[place].init {
                    Init::Integers { high, .. } => high,
                    _ => 0,
                });
                format!("integers({low}, {})", self.symbols.text(&high.collect::<Vec<_>>()))
            }
            Init::Arange { start, step } => format!("arange({start:?}, {step:?})"),
            Init::Tril(of) => format!("tril({}, {:?}, {:?})", of.diagonal, of.inside, of.outside),
            Init::Triu(of) => format!("triu({}, {:?}, {:?})", of.diagonal, of.inside, of.outside),
            Init::Values { values } => {
                let first = values.first().copied().unwrap_or(0.0);
                if values.iter().any(|value| value.to_bits() != first.to_bits()) {
                    return Err(format!("{} values that no formula describes", values.len()));
                }
                format!("fill({first:?})")
            }
        })
    }

    fn output(&self, index: usize) -> String {
        match self.graphs[0].outputs.len() {
            1 => "out".to_owned(),
            _ => format!("out{index}"),
        }
    }

    /// Returns the name of a tensor in the text.
    fn place(&self, place: &Place) -> String {
        let outputs = &self.graphs[0].outputs;
        if let Some(index) = outputs.iter().position(|output| output == place)
            && self.is_result(place)
        {
            return self.output(index);
        }
        match self.graphs[0].nodes.iter().find(|node| node.name == place.tensor) {
            Some(node) if node.n_outputs > 1 => name(&format!("{}_{}", place.tensor, place.index)),
            _ => name(&place.tensor),
        }
    }

    fn is_result(&self, place: &Place) -> bool {
        self.graphs[0].nodes.iter().any(|node| node.name == place.tensor)
    }

    fn graph(&self) -> Result<String, ImportError> {
        let mut text = String::new();
        for (place, node) in self.graphs[0].nodes.iter().enumerate() {
            let targets = (0..node.n_outputs).map(|index| {
                let target = Place { tensor: node.name.clone(), index };
                if node.n_outputs == 1 || self.is_used(&target) {
                    self.place(&target)
                } else {
                    "_".to_owned()
                }
            });
            let targets = targets.collect::<Vec<_>>().join(", ");
            let args = self.arguments(place, node)?;
            writeln!(text, "{targets} = {}({args})", node.op.name).expect("a string grows");
        }
        // An argument that is returned, or a result that is returned twice, is a copy.
        for (index, output) in self.graphs[0].outputs.iter().enumerate() {
            let name = self.output(index);
            if self.place(output) != name {
                writeln!(text, "{name} = clone({})", self.place(output)).expect("a string grows");
            }
        }
        Ok(text)
    }

    fn is_used(&self, place: &Place) -> bool {
        let graph = &self.graphs[0];
        let takes = |arg: &BoundArg| match arg {
            BoundArg::Tensor(tensor) => tensor == place,
            BoundArg::Tensors(tensors) => tensors.contains(place),
            BoundArg::Value(_) => false,
        };
        graph.outputs.contains(place)
            || graph.nodes.iter().any(|node| node.args.iter().any(|(_, arg)| takes(arg)))
    }

    fn arguments(&self, place: usize, node: &BoundNode) -> Result<String, ImportError> {
        let args = node.args.iter().enumerate().map(|(argument, (key, arg))| {
            let value = match arg {
                BoundArg::Tensor(tensor) => self.place(tensor),
                BoundArg::Tensors(tensors) => {
                    let names: Vec<String> =
                        tensors.iter().map(|tensor| self.place(tensor)).collect();
                    format!("[{}]", names.join(", "))
                }
                BoundArg::Value(value) => self.value(place, argument, value)?,
            };
            // Tensors in the first place need no name.
            Ok(match (argument, arg) {
                (0, BoundArg::Tensor(_) | BoundArg::Tensors(_))
                    if node.op.params[0].name == *key =>
                {
                    value
                }
                _ => format!("{key}={value}"),
            })
        });
        Ok(args.collect::<Result<Vec<_>, ImportError>>()?.join(", "))
    }

    fn value(&self, node: usize, argument: usize, value: &ArgValue) -> Result<String, ImportError> {
        let values = || self.graphs.iter().map(|graph| &graph.nodes[node].args[argument].1);
        let ints = |of: &dyn Fn(&ArgValue) -> Option<i64>| -> Vec<i64> {
            let one = |arg: &BoundArg| match arg {
                BoundArg::Value(value) => of(value),
                _ => None,
            };
            values().filter_map(one).collect()
        };
        Ok(match value {
            ArgValue::Int(_) => self.symbols.text(&ints(&|value| match value {
                ArgValue::Int(value) => Some(*value),
                _ => None,
            })),
            ArgValue::Ints(list) => {
                let one = |place: usize| {
                    self.symbols.text(&ints(&|value| match value {
                        ArgValue::Ints(ints) => ints.get(place).copied(),
                        _ => None,
                    }))
                };
                format!("[{}]", (0..list.len()).map(one).collect::<Vec<_>>().join(", "))
            }
            ArgValue::Float(_) => {
                let floats = values().filter_map(|arg| match arg {
                    BoundArg::Value(ArgValue::Float(value)) => Some(*value),
                    _ => None,
                });
                self.symbols.number(&floats.collect::<Vec<_>>())
            }
            ArgValue::Floats(list) => format!("{list:?}"),
            ArgValue::Bool(true) => "True".to_owned(),
            ArgValue::Bool(false) => "False".to_owned(),
            ArgValue::None => "None".to_owned(),
            ArgValue::Str(text) => format!("\"{text}\""),
            ArgValue::DType(dtype) => format!("\"{}\"", dtype.name()),
            ArgValue::Tensor(_) | ArgValue::Tensors(_) => {
                return Err(ImportError::Variants("a tensor in the place of a number".to_owned()));
            }
        })
    }

    fn case(&self, place: usize) -> String {
        let role = self.trace.variants[place].role;
        let symbols = self.symbols.extents.iter().chain(&self.symbols.integers);
        let mut lines: Vec<String> =
            symbols.map(|symbol| format!("{} = {}", symbol.name, symbol.values[place])).collect();
        let floats = self.symbols.floats.iter();
        lines.extend(floats.map(|(name, values)| format!("{name} = {:?}", values[place])));
        match role {
            Role::Original => lines.push("class = \"realistic\"".to_owned()),
            Role::Small => {
                let nodes = &self.graphs[0].nodes;
                let has_norm = nodes.iter().any(|node| node.op.family == OpFamily::Norm);
                let distributions = if has_norm { WITH_NORM } else { DISTRIBUTIONS };
                lines.push(format!("distributions = {distributions}"));
            }
            Role::Middle | Role::Drawn => {}
        }
        format!("\n[[cases]]\n{}", lines.join("\n"))
    }
}

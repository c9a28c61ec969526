//! Integers that differ between variants, as expressions of extents.

use std::collections::BTreeSet;

use kgen_ops::record::ArgValue;

use crate::{
    ImportError,
    bind::{BoundArg, Graph},
    name::name,
    trace::{Init, Trace},
};

/// The values of an integer in all variants.
type Vector = Vec<i64>;

/// An integer with a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) values: Vector,
}

/// The names that a definition gives to integers and numbers.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// Those that stand alone as an extent of a tensor.
    pub(crate) extents: Vec<Symbol>,
    /// Scalar arguments.
    pub(crate) integers: Vec<Symbol>,
    /// Scalar arguments that are no integers.
    pub(crate) floats: Vec<(String, Vec<f64>)>,
    /// Module-level constants that are neither.
    constants: Vec<Symbol>,
    taken: BTreeSet<String>,
}

/// Finds names for all integers of a trace that differ between its variants.
pub(crate) fn find(trace: &Trace, graphs: &[Graph]) -> Result<Symbols, ImportError> {
    check_structure(graphs)?;
    let mut symbols = Symbols { taken: taken(graphs), ..Symbols::default() };
    symbols.constants = constants(trace);
    let tensors = graphs[0].tensors.len();
    for only_constants in [true, false] {
        for tensor in 0..tensors {
            for dim in 0..graphs[0].tensors[tensor].shape.len() {
                let values: Vector =
                    graphs.iter().map(|graph| graph.tensors[tensor].shape[dim] as i64).collect();
                symbols.extent(&graphs[0].tensors[tensor].name, dim, values, only_constants);
            }
        }
    }
    for tensor in 0..tensors {
        let bound = |graph: &Graph| match graph.tensors[tensor].init {
            Init::Integers { high, .. } => high,
            _ => 0,
        };
        symbols.integer(
            &name(&format!("{}_high", graphs[0].tensors[tensor].name)),
            graphs.iter().map(bound).collect(),
        );
    }
    for (place, node) in graphs[0].nodes.iter().enumerate() {
        for (argument, (key, _)) in node.args.iter().enumerate() {
            let base = name(&format!("{}_{key}", node.name));
            let values: Vec<&BoundArg> =
                graphs.iter().map(|graph| &graph.nodes[place].args[argument].1).collect();
            symbols.argument(&base, &values)?;
        }
    }
    Ok(symbols)
}

/// Returns whether two graphs are the same but for numbers.
pub(crate) fn alike(a: &Graph, b: &Graph) -> bool {
    let same = |(a, b): (&(String, BoundArg), &(String, BoundArg))| match (&a.1, &b.1) {
        (BoundArg::Value(ArgValue::Int(_)), BoundArg::Value(ArgValue::Int(_)))
        | (BoundArg::Value(ArgValue::Float(_)), BoundArg::Value(ArgValue::Float(_))) => true,
        (BoundArg::Value(ArgValue::Ints(a)), BoundArg::Value(ArgValue::Ints(b))) => {
            a.len() == b.len()
        }
        (a, b) => a == b,
    };
    let of_nodes = || a.nodes.iter().zip(&b.nodes);
    check_structure([a, b]).is_ok() && of_nodes().all(|(a, b)| a.args.iter().zip(&b.args).all(same))
}

/// Checks that graphs have the same calls with the same arguments but for numbers.
fn check_structure<'g>(graphs: impl IntoIterator<Item = &'g Graph>) -> Result<(), ImportError> {
    let mut graphs = graphs.into_iter();
    let Some(first) = graphs.next() else { return Ok(()) };
    for graph in graphs {
        let calls =
            |graph: &Graph| graph.nodes.iter().map(|node| node.op.name.clone()).collect::<Vec<_>>();
        let ranks = |graph: &Graph| {
            graph
                .tensors
                .iter()
                .map(|tensor| (tensor.name.clone(), tensor.shape.len()))
                .collect::<Vec<_>>()
        };
        let arguments = |graph: &Graph| {
            let names = |args: &[(String, BoundArg)]| {
                args.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
            };
            graph.nodes.iter().map(|node| names(&node.args)).collect::<Vec<_>>()
        };
        if calls(graph) != calls(first) {
            return Err(ImportError::Variants("other ops".to_owned()));
        }
        if ranks(graph) != ranks(first) || graph.outputs != first.outputs {
            return Err(ImportError::Variants("other tensors".to_owned()));
        }
        if arguments(graph) != arguments(first) {
            return Err(ImportError::Variants("other arguments".to_owned()));
        }
    }
    Ok(())
}

fn taken(graphs: &[Graph]) -> BTreeSet<String> {
    let tensors = graphs[0].tensors.iter().map(|tensor| name(&tensor.name));
    tensors.chain(graphs[0].nodes.iter().map(|node| name(&node.name))).collect()
}

/// Returns the integer constants whose values differ.
fn constants(trace: &Trace) -> Vec<Symbol> {
    let Some(original) = trace.variants.first() else { return Vec::new() };
    let vector = |key: &String| -> Option<Symbol> {
        let values = trace.variants.iter().map(|variant| variant.constants.get(key)?.as_i64());
        let values = values.collect::<Option<Vector>>()?;
        differ(&values).then(|| Symbol { name: name(key), values })
    };
    // Literals inside of functions have numbers for names.
    let named = original.constants.keys().filter(|key| !key.contains('#'));
    named.filter_map(vector).collect()
}

fn differ<T: PartialEq>(values: &[T]) -> bool {
    values.iter().any(|value| *value != values[0])
}

impl Symbols {
    /// Returns the text of an integer.
    pub(crate) fn text(&self, values: &[i64]) -> String {
        if !differ(values) {
            return values[0].to_string();
        }
        let pool: Vec<&Symbol> = self.extents.iter().chain(&self.integers).collect();
        derive(values, &pool).unwrap_or_else(|| values[0].to_string())
    }

    /// Returns the text of an integer that follows from extents alone.
    pub(crate) fn by_extents(&self, values: &[i64]) -> Option<String> {
        derive(values, &self.extents.iter().collect::<Vec<_>>())
    }

    /// Drops scalars that nothing but their own declarations and the cases name; returns whether there
    /// were some.
    pub(crate) fn drop_unused(&mut self, definition: &str) -> bool {
        let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        let before = |text: &str, end: &str| text.split(end).next().unwrap_or(text).to_owned();
        let tensors = before(definition, "\n[scalars]");
        let graph = definition.split("\n[reference]").nth(1).unwrap_or_default();
        let graph = before(graph, "\n[module]");
        let words: BTreeSet<&str> = tensors.split(part).chain(graph.split(part)).collect();
        let n_before = self.integers.len();
        self.integers.retain(|symbol| words.contains(symbol.name.as_str()));
        self.integers.len() != n_before
    }

    /// Returns the text of a number.
    pub(crate) fn number(&self, values: &[f64]) -> String {
        if differ(values)
            && let Some((name, _)) = self.floats.iter().find(|(_, known)| known == values)
        {
            return name.clone();
        }
        format!("{:?}", values[0])
    }

    fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut n = 2;
        while self.taken.contains(&name) {
            name = format!("{wanted}_{n}");
            n += 1;
        }
        self.taken.insert(name.clone());
        name
    }

    fn take_constant(&mut self, values: &[i64]) -> Option<Symbol> {
        let place = self.constants.iter().position(|constant| constant.values == values)?;
        let Symbol { name, values } = self.constants.remove(place);
        Some(Symbol { name: self.fresh(&name), values })
    }

    fn extent(&mut self, tensor: &str, dim: usize, values: Vector, only_constants: bool) {
        if !differ(&values) || self.extents.iter().any(|known| known.values == values) {
            return;
        }
        if let Some(symbol) = self.take_constant(&values) {
            self.extents.push(symbol);
        } else if !only_constants && !self.derivable(&values) {
            let name = self.fresh(&name(&format!("{tensor}_{dim}")));
            self.extents.push(Symbol { name, values });
        }
    }

    /// Returns whether values follow from the symbols, perhaps with constants that become scalars.
    fn derivable(&mut self, values: &[i64]) -> bool {
        let pool: Vec<&Symbol> = self.extents.iter().chain(&self.integers).collect();
        if derive(values, &pool).is_some() {
            return true;
        }
        for constant in 0..self.constants.len() {
            let with = [pool.as_slice(), &[&self.constants[constant]]].concat();
            if derive(values, &with).is_some() {
                let values = self.constants[constant].values.clone();
                let symbol = self.take_constant(&values);
                self.integers.extend(symbol);
                return true;
            }
        }
        false
    }

    fn integer(&mut self, wanted: &str, values: Vector) {
        if !differ(&values) {
            return;
        }
        if let Some(symbol) = self.take_constant(&values) {
            self.integers.push(symbol);
        } else if !self.derivable(&values) {
            let name = self.fresh(wanted);
            self.integers.push(Symbol { name, values });
        }
    }

    fn argument(&mut self, base: &str, values: &[&BoundArg]) -> Result<(), ImportError> {
        let other = || ImportError::Variants(format!("`{base}` differs"));
        let BoundArg::Value(first) = values[0] else {
            return if differ(values) { Err(other()) } else { Ok(()) };
        };
        let same: Vec<&ArgValue> = values
            .iter()
            .map(|value| match value {
                BoundArg::Value(value) => Ok(value),
                _ => Err(other()),
            })
            .collect::<Result<_, _>>()?;
        match first {
            ArgValue::Int(_) => {
                let ints = same.iter().map(|value| match value {
                    ArgValue::Int(value) => Some(*value),
                    _ => None,
                });
                self.integer(base, ints.collect::<Option<_>>().ok_or_else(other)?);
            }
            ArgValue::Ints(list) => {
                for place in 0..list.len() {
                    let ints = same.iter().map(|value| match value {
                        ArgValue::Ints(ints) if ints.len() == list.len() => Some(ints[place]),
                        _ => None,
                    });
                    let ints = ints.collect::<Option<_>>().ok_or_else(other)?;
                    self.integer(&format!("{base}_{place}"), ints);
                }
            }
            ArgValue::Float(_) => {
                let floats = same.iter().map(|value| match value {
                    ArgValue::Float(value) => Some(*value),
                    _ => None,
                });
                let floats: Vec<f64> = floats.collect::<Option<_>>().ok_or_else(other)?;
                if differ(&floats) && !self.floats.iter().any(|(_, known)| *known == floats) {
                    let name = self.fresh(base);
                    self.floats.push((name, floats));
                }
            }
            _ if differ(&same) => return Err(other()),
            _ => {}
        }
        Ok(())
    }
}

/// Returns an expression of symbols that has these values, the simplest first.
fn derive(values: &[i64], pool: &[&Symbol]) -> Option<String> {
    let all =
        |of: &dyn Fn(usize) -> Option<i64>| (0..values.len()).all(|at| of(at) == Some(values[at]));
    let offset = |rest: i64| match rest {
        0 => String::new(),
        1.. => format!(" + {rest}"),
        _ => format!(" - {}", -rest),
    };
    if let Some(symbol) = pool.iter().find(|symbol| symbol.values == values) {
        return Some(symbol.name.clone());
    }
    for symbol in pool {
        let at = |at: usize| symbol.values[at];
        if at(0) != 0 && values[0] % at(0) == 0 {
            let factor = values[0] / at(0);
            if factor > 0 && all(&|i| at(i).checked_mul(factor)) {
                return Some(format!("{factor}*{}", symbol.name));
            }
        }
        let rest = values[0] - at(0);
        if all(&|i| at(i).checked_add(rest)) {
            return Some(format!("{}{}", symbol.name, offset(rest)));
        }
    }
    for (i, a) in pool.iter().enumerate() {
        for b in &pool[i + 1..] {
            if let Some(text) =
                of_two(values, a, b, &all, &offset).or_else(|| of_two(values, b, a, &all, &offset))
            {
                return Some(text);
            }
        }
    }
    for symbol in pool {
        // (a + p)//d + q: extents behind a convolution or a pool.
        for divisor in 2..=8i64 {
            for before in -8..=8i64 {
                let quotient = |at: usize| (symbol.values[at] + before).div_euclid(divisor);
                let rest = values[0] - quotient(0);
                if rest.abs() <= 8 && all(&|i| quotient(i).checked_add(rest)) {
                    let inner = match before {
                        0 => symbol.name.clone(),
                        _ => format!("({}{})", symbol.name, offset(before)),
                    };
                    return Some(format!("{inner}//{divisor}{}", offset(rest)));
                }
            }
        }
    }
    of_three(values, pool, &all)
}

type All<'a> = dyn Fn(&dyn Fn(usize) -> Option<i64>) -> bool + 'a;

/// Products, sums, differences and quotients of two symbols, with a factor or an offset.
fn of_two(
    values: &[i64],
    a: &Symbol,
    b: &Symbol,
    all: &All<'_>,
    offset: &dyn Fn(i64) -> String,
) -> Option<String> {
    let (x, y) = (&a.values, &b.values);
    let product = x[0].checked_mul(y[0])?;
    if product != 0 && values[0] % product == 0 {
        let factor = values[0] / product;
        if factor > 0 && all(&|i| x[i].checked_mul(y[i])?.checked_mul(factor)) {
            let product = format!("{}*{}", a.name, b.name);
            return Some(if factor == 1 { product } else { format!("{factor}*{product}") });
        }
    }
    if all(&|i| x[i].checked_div(y[i]).filter(|_| y[i] > 1)) {
        return Some(format!("{}//{}", a.name, b.name));
    }
    for (sign, name) in [(1, "+"), (-1, "-")] {
        let rest = values[0] - x[0] - sign * y[0];
        if all(&|i| Some(x[i] + sign * y[i] + rest)) {
            return Some(format!("{} {name} {}{}", a.name, b.name, offset(rest)));
        }
    }
    // a * (b + c): an extent in the middle of a shape that was flattened.
    if x.iter().all(|&x| x != 0) && values.iter().zip(x).all(|(value, x)| value % x == 0) {
        let rest = values[0] / x[0] - y[0];
        if all(&|i| x[i].checked_mul(y[i] + rest)) {
            return Some(format!("{}*({}{})", a.name, b.name, offset(rest)));
        }
    }
    None
}

/// Products of three symbols, or of two and their sum or quotient.
fn of_three(values: &[i64], pool: &[&Symbol], all: &All<'_>) -> Option<String> {
    for a in pool {
        for b in pool {
            for c in pool {
                let (x, y, z) = (&a.values, &b.values, &c.values);
                let product = x[0].checked_mul(y[0]).and_then(|xy| xy.checked_mul(z[0]));
                if let Some(product) =
                    product.filter(|&product| product != 0 && values[0] % product == 0)
                {
                    let factor = values[0] / product;
                    let times =
                        |i: usize| x[i].checked_mul(y[i])?.checked_mul(z[i])?.checked_mul(factor);
                    if factor > 0 && all(&times) {
                        let product = format!("{}*{}*{}", a.name, b.name, c.name);
                        return Some(if factor == 1 {
                            product
                        } else {
                            format!("{factor}*{product}")
                        });
                    }
                }
                let rest = values[0] - x[0] + y[0] - z[0];
                if rest == 0 && all(&|i| Some(x[i] - y[i] + z[i])) {
                    return Some(format!("{} - {} + {}", a.name, b.name, c.name));
                }
            }
        }
    }
    None
}

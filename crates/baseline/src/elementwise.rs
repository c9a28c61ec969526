//! Builtin kernels of elementwise ops: one template, and an expression each from a table.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{LazyLock, OnceLock},
};

use kgen_kernel::plan::plan_name;
use kgen_ops::op::{self, OpDef, Param};
use serde::Deserialize;

/// The expressions, and the functions that they call.
const TEXT: &str = include_str!("../../../suites/baselines/elementwise.toml");

static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(TEXT).expect("the embedded table can be read"));

/// The rows by the names of their ops, with the kernel files that somebody has asked for.
static KERNELS: LazyLock<BTreeMap<&str, Kernel>> = LazyLock::new(|| {
    let all = [(F32, &TABLE.f32), (WIDE, &TABLE.wide), (RAW, &TABLE.raw)];
    let kernel = |types, (name, row): (&'static String, &'static Row)| {
        (name.as_str(), Kernel { types, row, file: OnceLock::new() })
    };
    all.into_iter()
        .flat_map(|(types, rows)| rows.iter().map(move |row| kernel(types, row)))
        .collect()
});

struct Kernel {
    types: Types,
    row: &'static Row,
    file: OnceLock<String>,
}

/// Returns the kernel file of an op; `None` where the table has none.
pub(super) fn kernel(name: &str) -> Option<&'static str> {
    let Kernel { types, row, file } = KERNELS.get(name)?;
    Some(file.get_or_init(|| {
        let op = op::find(name).expect("every row is an op");
        TABLE.kernel(op, *types, row)
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    template: String,
    f32: BTreeMap<String, Row>,
    wide: BTreeMap<String, Row>,
    raw: BTreeMap<String, Row>,
    functions: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Row {
    Plain(String),
    Detailed {
        expression: String,
        #[serde(default)]
        plan: String,
        /// `type name = value`, in place of the numbers of the signature.
        args: Option<Vec<String>>,
    },
}

/// The types that expressions compute with.
#[derive(Clone, Copy)]
struct Types {
    /// How the head of the file says it.
    words: &'static str,
    /// The functions that convert an element and the result.
    convert: Option<[&'static str; 2]>,
}

const F32: Types = Types { words: ", in f32", convert: Some(["as_f32", "kg::from_float<T_out>"]) };
const WIDE: Types =
    Types { words: "; integers in 64 bits, the rest in f32", convert: Some(["as_out", "narrow"]) };
const RAW: Types = Types { words: "", convert: None };

/// The parts of a kernel that its arguments make.
#[derive(Default)]
struct Arguments {
    params: Vec<String>,
    values: Vec<String>,
    /// Lines of the plan that name the input tensors, and the names.
    inputs: String,
    names: Vec<String>,
    packs: String,
    loads: String,
}

impl Table {
    fn kernel(&self, op: &OpDef, types: Types, row: &Row) -> String {
        let (expression, plan, args) = match row {
            Row::Plain(expression) => (expression, "", None),
            Row::Detailed { expression, plan, args } => {
                (expression, plan.as_str(), args.as_deref())
            }
        };
        let arguments = arguments(op, types, expression, args);
        let [load, store] = types.convert.unwrap_or_default();
        let mut functions = Vec::new();
        for word in words(load).chain(words(store)).chain(words(expression)) {
            self.add(word, &mut functions);
        }
        let of_tensors = |property: &str| {
            let names = arguments.names.iter().map(|name| format!("{name}.{property}"));
            names.collect::<Vec<_>>().join(", ")
        };
        let functions = functions.iter().map(|name| format!("{}\n", self.functions[*name]));
        let result =
            if store.is_empty() { expression.clone() } else { format!("{store}({expression})") };
        self.template
            .replace("{{op}}", &op.name)
            .replace("{{name}}", &op.folder())
            .replace("{{types}}", types.words)
            .replace("{{plan}}", plan)
            .replace("{{inputs}}", &arguments.inputs)
            .replace("{{sizes}}", &of_tensors("itemsize"))
            .replace("{{aligns}}", &of_tensors("align"))
            .replace("{{values}}", &arguments.values.join(", "))
            .replace("{{functions}}", &functions.collect::<String>())
            .replace("{{params}}", &arguments.params.join(", "))
            .replace("{{packs}}", &arguments.packs)
            .replace("{{loads}}", &arguments.loads)
            .replace("{{result}}", &result)
    }

    /// Adds a function and, before it, those that it calls.
    fn add<'a>(&'a self, name: &str, into: &mut Vec<&'a str>) {
        let Some((name, text)) = self.functions.get_key_value(name) else { return };
        if !into.contains(&name.as_str()) {
            words(text).filter(|word| word != name).for_each(|word| self.add(word, into));
            into.push(name);
        }
    }
}

fn arguments(op: &OpDef, types: Types, expression: &str, args: Option<&[String]>) -> Arguments {
    let uses = |name: &str| words(expression).any(|word| word == name);
    let (tensors, numbers): (Vec<&Param>, Vec<&Param>) =
        op.params.iter().partition(|param| param.kind.holds_tensors());
    let mut all = Arguments::default();
    for name in tensors.iter().map(|tensor| plan_name(&tensor.name)).filter(|name| uses(name)) {
        let value = match tensors.as_slice() {
            [_] => format!("contiguous({name})"),
            _ => format!("expand({name}, out.shape)"),
        };
        writeln!(all.inputs, "in_{name} = {value}").expect("a string grows");
        all.values.push(format!("in_{name}"));
        all.names.push(format!("in_{name}"));
        all.params.push(format!("const T_{name}* __restrict__ in_{name}"));
        writeln!(
            all.packs,
            "        const auto pack_{name} = reinterpret_cast<const Pack<T_{name}>*>(in_{name})[i];"
        )
        .expect("a string grows");
        let element = match types.convert {
            Some([load, _]) => format!("{load}(pack_{name}.at[j])"),
            None => format!("pack_{name}.at[j]"),
        };
        if all.loads.is_empty() && uses("V") {
            all.loads = format!("            using V = decltype({element});\n");
        }
        writeln!(all.loads, "            const auto {name} = {element};").expect("a string grows");
    }
    all.names.push("out".to_owned());
    all.values.extend(["out".to_owned(), "out.numel".to_owned()]);
    all.params.extend(["T_out* __restrict__ out".to_owned(), "long long n".to_owned()]);
    let numbers = numbers.iter().map(|number| plan_name(&number.name)).filter(|name| uses(name));
    let plain = || numbers.map(|name| format!("float {name} = {name}")).collect();
    for arg in args.map_or_else(plain, <[String]>::to_vec) {
        let (param, value) = arg.split_once(" = ").expect("an argument has a value");
        all.params.push(param.to_owned());
        all.values.push(value.to_owned());
    }
    all
}

/// Returns the words of C++ text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
}

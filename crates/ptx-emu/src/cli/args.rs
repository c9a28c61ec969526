//! The command line's words.

use std::ffi::OsString;

use lexopt::{Arg as Word, Parser, ValueExt as _};
use ptx_emu::{Blocks, Checks};

use super::{
    Error, Result, help,
    spec::{self, Arg, Expect},
};

/// A command.
#[derive(Debug)]
pub(super) enum Command {
    /// Print this.
    Help(&'static str),
    /// Show the contents of a PTX file.
    List { ptx: String },
    /// Run a kernel.
    Run(Box<RunArgs>),
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    #[default]
    Text,
    Json,
}

/// Arguments of `run`.
#[derive(Debug, Default)]
pub(super) struct RunArgs {
    pub ptx: String,
    pub kernel: Option<String>,
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub cluster: Option<[u32; 3]>,
    pub smem: u32,
    pub args: Vec<Arg>,
    pub expect: Vec<Expect>,
    pub checks: Checks,
    pub counters: bool,
    pub blocks: Blocks,
    pub limit: Option<u64>,
    pub memory: Option<u64>,
    pub source: Option<String>,
    pub format: Format,
}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Self::usage(format!("{error}; try --help"))
    }
}

/// Reads the command line.
///
/// # Errors
/// Its error.
pub(super) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command> {
    let mut parser = Parser::from_args(args);
    match parser.next()? {
        None => Ok(Command::Help(help::GENERAL)),
        Some(Word::Short('h') | Word::Long("help")) => Ok(Command::Help(help::GENERAL)),
        Some(Word::Short('V') | Word::Long("version")) => {
            Ok(Command::Help(concat!("ptx-emu ", env!("CARGO_PKG_VERSION"), "\n")))
        }
        Some(Word::Value(word)) if word == "list" => list(parser),
        Some(Word::Value(word)) if word == "run" => run(parser),
        Some(Word::Value(word)) => Err(Error::usage(format!(
            "no command `{}`; there are run and list",
            word.to_string_lossy()
        ))),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn list(mut parser: Parser) -> Result<Command> {
    let mut ptx = None;
    while let Some(word) = parser.next()? {
        match word {
            Word::Short('h') | Word::Long("help") => return Ok(Command::Help(help::GENERAL)),
            Word::Value(path) if ptx.is_none() => ptx = Some(path.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    match ptx {
        Some(ptx) => Ok(Command::List { ptx }),
        None => Err(Error::usage("list needs a PTX file")),
    }
}

fn run(mut parser: Parser) -> Result<Command> {
    let mut args = RunArgs::default();
    let mut ptx = None;
    while let Some(word) = parser.next()? {
        match word {
            Word::Short('h') | Word::Long("help") => return Ok(Command::Help(help::RUN)),
            Word::Value(path) if ptx.is_none() => ptx = Some(path.string()?),
            Word::Long("counters") => args.counters = true,
            Word::Long(name) => {
                let name = name.to_owned();
                option(&name, &mut args, &mut parser)?;
            }
            other => return Err(other.unexpected().into()),
        }
    }
    args.ptx = ptx.ok_or_else(|| Error::usage("run needs a PTX file"))?;
    Ok(Command::Run(Box::new(args)))
}

/// Reads the value of an option.
fn option(name: &str, args: &mut RunArgs, parser: &mut Parser) -> Result<()> {
    const NAMES: [&str; 13] = [
        "arg", "kernel", "grid", "block", "cluster", "smem", "sanitize", "blocks", "limit",
        "memory", "expect", "source", "format",
    ];
    if !NAMES.contains(&name) {
        return Err(Error::usage(format!("no option `--{name}`; try run --help")));
    }
    let text = parser.value()?.string()?;
    let wrong = |wanted: &str| Error::usage(format!("--{name} {text}: expected {wanted}"));
    let shape = || extents(&text).ok_or_else(|| wrong("up to three numbers such as 8,4"));
    match name {
        "arg" => {
            let arg = spec::arg(&text)?;
            if args.args.iter().any(|other| other.name == arg.name) {
                return Err(wrong("another name: this one is taken"));
            }
            args.args.push(arg);
        }
        "expect" => args.expect.push(spec::expect(&text)?),
        "kernel" => args.kernel = Some(text),
        "source" => args.source = Some(text),
        "grid" => args.grid = Some(shape()?),
        "block" => args.block = Some(shape()?),
        "cluster" => args.cluster = Some(shape()?),
        "smem" => args.smem = text.parse().map_err(|_| wrong("a number of bytes"))?,
        "sanitize" => {
            args.checks = checks(&text).ok_or_else(|| {
                wrong("full, memory, bounds, or a list of init,taint,races,numerics")
            })?;
        }
        "blocks" => {
            args.blocks =
                blocks(&text).ok_or_else(|| wrong("all, 1,5,7-9, or sample:COUNT[:SEED]"))?;
        }
        "limit" => {
            let limit = scaled(&text, 1000).ok_or_else(|| wrong("a number such as 500M"))?;
            args.limit = Some(limit);
        }
        "memory" => {
            let bytes = scaled(&text, 1024).ok_or_else(|| wrong("a number such as 16G"))?;
            args.memory = Some(bytes);
        }
        _ => {
            args.format = match text.as_str() {
                "text" => Format::Text,
                "json" => Format::Json,
                _ => return Err(wrong("text or json")),
            };
        }
    }
    Ok(())
}

/// `X[,Y[,Z]]`.
fn extents(text: &str) -> Option<[u32; 3]> {
    let mut out = [1; 3];
    let mut parts = text.split(',');
    for (slot, part) in out.iter_mut().zip(&mut parts) {
        *slot = part.trim().parse().ok()?;
    }
    parts.next().is_none().then_some(out)
}

fn checks(text: &str) -> Option<Checks> {
    let mut checks = Checks::BOUNDS;
    for name in text.split(',') {
        match name {
            "full" => checks = Checks::FULL,
            "bounds" => {}
            "memory" | "init" => checks.initialisation = true,
            "taint" => (checks.initialisation, checks.taint) = (true, true),
            "races" => checks.races = true,
            "numerics" => checks.numerics = true,
            _ => return None,
        }
    }
    Some(checks)
}

/// Most blocks that are named one by one.
const MAX_NAMED: u64 = 1 << 20;

fn blocks(text: &str) -> Option<Blocks> {
    if text == "all" {
        return Some(Blocks::All);
    }
    if let Some(rest) = text.strip_prefix("sample:") {
        let (count, seed) = rest.split_once(':').unwrap_or((rest, "0"));
        let count = count.parse().ok().filter(|n| *n > 0)?;
        return Some(Blocks::Sample { count, seed: seed.parse().ok()? });
    }
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last - first >= MAX_NAMED {
            return None;
        }
        list.extend(first..=last);
    }
    Some(Blocks::Only(list))
}

/// A number with a suffix k, M, G or T of this base.
fn scaled(text: &str, base: u64) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(base.pow(power))
}

#[cfg(test)]
mod tests {
    use super::{Blocks, Checks, blocks, checks, extents, scaled};

    #[test]
    fn values_of_options() {
        assert_eq!(extents("4"), Some([4, 1, 1]));
        assert_eq!(extents("4,2,3"), Some([4, 2, 3]));
        assert_eq!((extents("4,"), extents("1,2,3,4"), extents("")), (None, None, None));
        assert_eq!(scaled("5G", 1000), Some(5_000_000_000));
        assert_eq!((scaled("5X", 1000), scaled("G", 1000)), (None, None));
        assert_eq!(scaled("99999999999T", 1024), None);
        assert_eq!(checks("full"), Some(Checks::FULL));
        assert_eq!(checks("init,taint,races,numerics"), Some(Checks::FULL));
        assert_eq!(checks("fast"), None);
        assert_eq!(blocks("1,5-7"), Some(Blocks::Only(vec![1, 5, 6, 7])));
        assert_eq!(blocks("sample:8:3"), Some(Blocks::Sample { count: 8, seed: 3 }));
        assert_eq!(blocks("sample:0"), None);
        assert_eq!((blocks("7-5"), blocks("0-99999999999"), blocks("x")), (None, None, None));
    }
}

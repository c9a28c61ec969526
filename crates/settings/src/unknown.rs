//! Advice on settings that do not exist: the nearest one that does, and the section it lives in.

use std::collections::BTreeSet;

use super::{
    keys::{KEYS, Kind},
    named::NAMED_KEYS,
};

/// A setting with the section it lives in.
#[derive(Clone, Copy)]
struct Known {
    section: &'static str,
    name: &'static str,
    kind: Kind,
}

fn all() -> Vec<Known> {
    let keys = KEYS.iter().filter_map(|key| {
        let (section, name) = key.path.rsplit_once('.')?;
        Some(Known { section, name, kind: key.kind })
    });
    let named = NAMED_KEYS.iter();
    let named = named.map(|key| Known { section: key.section, name: key.name, kind: key.kind });
    keys.chain(named).collect()
}

/// Returns advice on a path of a config file that is no setting, in one sentence.
pub(crate) fn advice(parts: &[&str]) -> String {
    let known = all();
    let section = section_of(&known, parts);
    let rest = &parts[section.map_or(0, |section| section.split('.').count())..];
    let in_section = section.is_some();
    misplaced_kind(&known, parts, section, rest)
        .or_else(|| typo_of_section(&known, parts).filter(|_| !in_section && 1 < parts.len()))
        .or_else(|| elsewhere(&known, rest))
        .or_else(|| typo_in_section(&known, section, rest))
        .or_else(|| typo_of_section(&known, parts).filter(|_| !in_section))
        .or_else(|| near_elsewhere(&known, rest))
        .unwrap_or_else(|| listing(&known, section))
}

/// Returns the longest section that the path begins with; the user's own names match `NAME`.
fn section_of(known: &[Known], parts: &[&str]) -> Option<&'static str> {
    let begins = |section: &str| {
        let names: Vec<&str> = section.split('.').collect();
        let same = |(name, part): (&&str, &&str)| *name == "NAME" || name == part;
        names.len() <= parts.len() && names.iter().zip(parts).all(same)
    };
    let sections = known.iter().map(|known| known.section).filter(|section| begins(section));
    sections.max_by_key(|section| section.split('.').count())
}

/// A section that has a value, or a setting that has a table.
fn misplaced_kind(
    known: &[Known],
    parts: &[&str],
    section: Option<&'static str>,
    rest: &[&str],
) -> Option<String> {
    if rest.is_empty() {
        let names = list(known, section?);
        return Some(format!("`[{}]` is a section; its settings are {names}", parts.join(".")));
    }
    let [name, _, ..] = rest else { return None };
    let is_it = |known: &&Known| Some(known.section) == section && known.name == *name;
    let Known { section, kind, .. } = known.iter().find(is_it)?;
    Some(format!("`{name}` in `[{section}]` takes {}, not a table", kind.expected()))
}

fn typo_in_section(
    known: &[Known],
    section: Option<&'static str>,
    rest: &[&str],
) -> Option<String> {
    let own = || known.iter().filter(|known| Some(known.section) == section);
    let name = rest.first()?;
    // `max_calls` and `calls`: a word more or less.
    let has_words = |known: &&Known| {
        let (longer, shorter) = (format!("_{name}_"), format!("_{}_", known.name));
        longer.contains(&shorter) || shorter.contains(&longer)
    };
    let near = kgen_ops::nearest(name, own().map(|known| known.name));
    let near = near.or_else(|| own().find(has_words).map(|known| known.name))?;
    Some(did_you_mean(near, &[section?]))
}

/// A setting of another section, by its exact name.
fn elsewhere(known: &[Known], rest: &[&str]) -> Option<String> {
    let found = rest.iter().find_map(|part| {
        let sections = sections_with(known, part);
        (!sections.is_empty()).then_some((part, sections))
    });
    let (name, sections) = found?;
    Some(format!("`{name}` lives in {}", in_words(&sections)))
}

/// A misspelt section; a name without one is first taken for a setting. Short names are near only with the
/// setting behind them.
fn typo_of_section(known: &[Known], parts: &[&str]) -> Option<String> {
    let sections = sections(known);
    let first = |section: &'static str| section.split('.').next().unwrap_or_default();
    let named = kgen_ops::nearest(parts.first()?, sections.iter().map(|section| first(section)));
    let section = match named {
        Some(near) => sections.iter().find(|section| first(section) == near).copied(),
        None => {
            let paths: Vec<String> =
                known.iter().map(|known| format!("{}.{}", known.section, known.name)).collect();
            let near = kgen_ops::nearest(&parts.join("."), paths.iter().map(String::as_str))?;
            near.rsplit_once('.')
                .and_then(|(section, name)| {
                    sections.iter().find(|known| **known == section && parts.last() == Some(&name))
                })
                .copied()
        }
    }?;
    let names = list(known, section);
    Some(format!("did you mean the section `[{section}]`? Its settings are {names}"))
}

fn near_elsewhere(known: &[Known], rest: &[&str]) -> Option<String> {
    let near = rest.iter().rev().find_map(|part| {
        let names: BTreeSet<&str> = known.iter().map(|known| known.name).collect();
        kgen_ops::nearest(part, names)
    })?;
    Some(did_you_mean(near, &sections_with(known, near)))
}

fn listing(known: &[Known], section: Option<&'static str>) -> String {
    match section {
        Some(section) => format!("the settings of `[{section}]` are {}", list(known, section)),
        None => {
            let sections: Vec<_> =
                sections(known).iter().map(|section| format!("[{section}]")).collect();
            format!("the sections are {}", sections.join(", "))
        }
    }
}

fn sections(known: &[Known]) -> Vec<&'static str> {
    let mut sections: Vec<&str> = Vec::new();
    for section in known.iter().map(|known| known.section) {
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    sections
}

fn sections_with(known: &[Known], name: &str) -> Vec<&'static str> {
    known.iter().filter(|known| known.name == name).map(|known| known.section).collect()
}

fn list(known: &[Known], section: &str) -> String {
    let names = known.iter().filter(|known| known.section == section).map(|known| known.name);
    names.collect::<Vec<_>>().join(", ")
}

fn did_you_mean(name: &str, sections: &[&str]) -> String {
    format!("did you mean `{name}`? It lives in {}", in_words(sections))
}

fn in_words(sections: &[&str]) -> String {
    let names: Vec<String> = sections.iter().map(|section| format!("`[{section}]`")).collect();
    names.join(" and ")
}

//! Selects that decide which elements of a section are shown. Without a script they are not there, and all
//! that is shown at first stays.

use maud::{Markup, html};

/// One select.
pub(super) struct Choice {
    /// The part of a token before its value.
    pub(super) name: String,
    pub(super) label: String,
    /// Tokens with their names; the first one is chosen. An empty token is every element.
    pub(super) options: Vec<(String, String)>,
}

impl Choice {
    /// A choice among numbered names, or all of them; `None` where there is no choice.
    pub(super) fn among(name: &str, label: &str, names: &[&str]) -> Option<Self> {
        let numbered = names.iter().enumerate();
        let options = numbered.map(|(at, one)| (format!("{name}-{at}"), (*one).to_owned()));
        let all = [(String::new(), "all".to_owned())];
        (1 < names.len()).then(|| Self {
            name: name.to_owned(),
            label: label.to_owned(),
            options: all.into_iter().chain(options).collect(),
        })
    }
}

/// The selects of a section; `counted`: the plural of its elements.
pub(super) fn form(choices: &[Choice], counted: &str) -> Markup {
    html! {
        @if !choices.is_empty() {
            form.choose autocomplete="off" hidden data-counted=(counted) {
                @for choice in choices {
                    label {
                        (choice.label) " "
                        select name=(choice.name) {
                            @for (token, name) in &choice.options { option value=(token) { (name) } }
                        }
                    }
                }
                output aria-live="polite" {}
            }
        }
    }
}

/// Position of a name in a list, which is extended by it where it is new.
pub(super) fn position<'a>(names: &mut Vec<&'a str>, name: &'a str) -> usize {
    names.iter().position(|one| *one == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

//! Kinds of feedback to a model about its kernels.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)*) => {
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        pub enum FeedbackKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)*
        }

        impl FeedbackKind {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// Returns the name as flags and records spell it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

// The one list of kinds: settings, flags, variables of templates and records follow it.
kinds! {
    /// Messages of the source guards, the plan and the compiler.
    Compile "compile",
    /// Cases that are wrong, with the first elements that differ.
    Correctness "correctness",
    /// Findings of the emulator's sanitizer and compute-sanitizer: bounds, races, uninitialised values.
    Sanitizer "sanitizer",
    Timing "timing",
    /// Registers, spills, shared memory, occupancy, instruction mix.
    Static "static",
    /// How near to the hardware's limit, and which limit that is.
    Roofline "roofline",
    Profile "profile",
}

/// A text that names no kind of feedback.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no kind of feedback")]
pub struct UnknownFeedbackError(String);

impl FromStr for FeedbackKind {
    type Err = UnknownFeedbackError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.name() == text).ok_or_else(|| UnknownFeedbackError(text.to_owned()))
    }
}

/// The kinds of feedback that a model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<FeedbackKind>", into = "Vec<FeedbackKind>")]
pub struct FeedbackSet(u32);

impl FeedbackSet {
    pub const ALL: Self = Self((1 << FeedbackKind::ALL.len()) - 1);
    /// None: the verdict alone.
    pub const NONE: Self = Self(0);

    /// Returns whether a kind is in the set.
    #[must_use]
    pub const fn has(self, kind: FeedbackKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Returns the kinds in their fixed order.
    pub fn iter(self) -> impl Iterator<Item = FeedbackKind> {
        FeedbackKind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }
}

impl Default for FeedbackSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<FeedbackKind> for FeedbackSet {
    fn from_iter<I: IntoIterator<Item = FeedbackKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |set, kind| set | 1 << kind as u8))
    }
}

impl From<Vec<FeedbackKind>> for FeedbackSet {
    fn from(kinds: Vec<FeedbackKind>) -> Self {
        kinds.into_iter().collect()
    }
}

impl From<FeedbackSet> for Vec<FeedbackKind> {
    fn from(set: FeedbackSet) -> Self {
        set.iter().collect()
    }
}

impl fmt::Display for FeedbackSet {
    /// Writes `all`, `none` or the kinds with commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => f.pad("all"),
            Self::NONE => f.pad("none"),
            set => f.pad(&set.iter().map(FeedbackKind::name).collect::<Vec<_>>().join(",")),
        }
    }
}

impl FromStr for FeedbackSet {
    type Err = UnknownFeedbackError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "all" => Ok(Self::ALL),
            "none" => Ok(Self::NONE),
            kinds => kinds.split(',').map(|kind| kind.trim().parse()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FeedbackKind, FeedbackSet};

    #[test]
    fn sets_are_written_as_they_are_read() {
        let some: FeedbackSet = "timing, compile".parse().unwrap();
        assert_eq!(some.to_string(), "compile,timing");
        assert!(some.has(FeedbackKind::Timing) && !some.has(FeedbackKind::Profile));
        for set in [FeedbackSet::ALL, FeedbackSet::NONE, some] {
            assert_eq!(set.to_string().parse::<FeedbackSet>().unwrap(), set);
            let json = serde_json::to_string(&set).unwrap();
            assert_eq!(serde_json::from_str::<FeedbackSet>(&json).unwrap(), set);
        }
        assert!("timing,speed".parse::<FeedbackSet>().is_err());
        assert_eq!(FeedbackKind::ALL.into_iter().collect::<FeedbackSet>(), FeedbackSet::ALL);
    }
}

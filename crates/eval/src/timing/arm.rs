//! One arm of a comparison: its argument sets on the device.

use kgen_device::{Device, LaunchError, TimedCall, TimedWork};
use kgen_record::{Case, TensorSpec};

use super::bench::Samples;
use crate::{
    CaseProgram,
    session::{InputSource, Modules, Session},
};

/// The byte that fills outputs and scratch before every sample: NaN in every floating-point type.
pub(super) const POISON: u8 = 0xff;

/// A program of a case with its argument sets: equal shapes at other addresses. Samples take them in
/// turn, so that neither addresses nor data repeat from one launch to the next.
pub(super) struct Sets<'a> {
    sessions: Vec<Session<'a>>,
}

/// The program and cases of a set.
#[derive(Clone, Copy)]
pub(super) struct Recipe<'r, 'a> {
    pub(super) case: &'a Case,
    pub(super) program: &'a CaseProgram,
    pub(super) modules: Modules<'a>,
    pub(super) outputs: &'r [(String, TensorSpec)],
}

impl<'a> Sets<'a> {
    /// Opens one set per source, all with equal shapes.
    pub(super) fn open(
        device: &mut dyn Device,
        recipe: Recipe<'_, 'a>,
        sources: &[&dyn InputSource],
    ) -> Result<Self, LaunchError> {
        let Recipe { case, program, modules, outputs } = recipe;
        let mut sets = Self { sessions: Vec::new() };
        for source in sources {
            match Session::open(device, case, program, modules, *source, outputs) {
                Ok(session) => sets.sessions.push(session),
                Err(error) => {
                    sets.close(device);
                    return Err(error);
                }
            }
        }
        Ok(sets)
    }

    /// Returns the sessions, one per set.
    pub(super) fn sessions(&self) -> &[Session<'a>] {
        &self.sessions
    }

    /// Returns one call per set, which poisons the set's own outputs and scratch: those of the others
    /// are the results of other data.
    pub(super) fn calls(&self) -> Vec<TimedCall> {
        let call = |session: &Session<'_>| TimedCall {
            poison: session.poisoned().into_iter().map(|buffer| (buffer, POISON)).collect(),
            work: TimedWork::Ops(session.ops()),
        };
        self.sessions.iter().map(call).collect()
    }

    /// Returns where its samples come from.
    pub(super) fn samples(&self) -> Samples<'_> {
        let elsewhere = self.sessions.first().and_then(Session::call);
        elsewhere.map_or_else(|| Samples::Here(self.calls()), Samples::Elsewhere)
    }

    /// Frees everything.
    pub(super) fn close(self, device: &mut dyn Device) {
        for session in self.sessions {
            session.close(device);
        }
    }
}

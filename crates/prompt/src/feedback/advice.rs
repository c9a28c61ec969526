//! Usual causes of a verdict, where they are not in the finding.

use kgen_record::Verdict;

use super::{Section, kind_of};

/// Returns the advice for a verdict.
pub(super) fn section(verdict: Verdict) -> Option<Section> {
    let text = advice(verdict);
    (!text.is_empty()).then(|| Section::new(kind_of(verdict), text))
}

/// Names the usual cause of a verdict, where that is not in the finding.
const fn advice(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Race => {
            "Two accesses to one place, at least one a write, are not ordered. If both threads are \
             meant to be there, order them: `__syncthreads()` before shared memory that was written \
             is read, and again before it is written anew; for global memory only a second launch \
             orders blocks. If one is not, its index is wrong or lacks a bound, and no barrier helps."
        }
        Verdict::Uninitialised => {
            "Garbage was used that nobody wrote: shared memory or `scratch(..)` before the first \
             store, the elements of `out`, a variable without a first value, the part of a vector \
             load behind the data, or the target of a `cp.async` before its wait and barrier."
        }
        Verdict::Deadlock => {
            "Some threads wait at a barrier or shuffle that others never reach: let every thread \
             of the block (or of the mask) take the same path to it, also those without work."
        }
        Verdict::TimedOut => {
            "The kernel did not end in time: look for a loop whose counter does not advance or \
             wraps around, for spinning on a flag, or for far too little parallelism."
        }
        Verdict::InputModified => {
            "An input changed. Write to `out` and `scratch(..)` buffers only."
        }
        Verdict::OutOfBoundsWrite => {
            "A store went outside its buffer: guard the tail (`if (i < n)`), check that 32-bit \
             index arithmetic does not overflow, and that grid times block covers no more than \
             the data."
        }
        Verdict::Nondeterministic => {
            "Equal inputs gave different outputs: an unordered update (atomics on floats) or a \
             race decides the result."
        }
        Verdict::Suspicious => {
            "It was faster than the hardware can move the data, so it does not do all of the work."
        }
        Verdict::Unsupported => {
            "The emulator cannot run this, which proves nothing about the kernel: use plainer \
             instructions for the cases it must run."
        }
        Verdict::Declined => {
            "A declined case counts as failed: handle it, if need be with a slower general kernel \
             behind an `if` in the plan."
        }
        Verdict::Passed
        | Verdict::NoCode
        | Verdict::Rejected
        | Verdict::PlanError
        | Verdict::CompileError
        | Verdict::LaunchError
        | Verdict::Fault
        | Verdict::WrongOutput
        | Verdict::Crashed => "",
    }
}

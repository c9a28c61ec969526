//! A sample of a grid's blocks, where the emulator has no time for all of them.
//!
//! The elements that sampled blocks write are compared; that none is wrong proves little, so that the
//! case stays skipped. Blocks are sampled only where each is right or wrong by itself: one launch,
//! a plain one, no scratch memory, no atomics on global memory.

use kgen_device::{Device, EmuDevice, LaunchError};
use kgen_record::{CaseResult, Finding, Step, Verdict, tensor::encode};
use ptx_emu::analysis::analyse;

use super::{
    CaseProgram, Error,
    builder::failed,
    prepared_case::PreparedCase,
    program::Variant,
    session::{Modules, Session},
};

/// Blocks that run.
const COUNT: usize = 64;

/// Byte that the outputs hold before.
const POISON: u8 = 0xff;

/// Result of sampled blocks.
pub(super) enum Sampled {
    /// So many elements that they wrote are right.
    Right { blocks: usize, of: u64, elements: usize },
    /// Some of it is wrong.
    Wrong(Box<CaseResult>),
}

/// Runs a sample of the blocks of a case within the budget of the device; `None` where that would prove nothing.
///
/// # Errors
///
/// When the emulator itself fails.
pub(super) fn sample(
    device: &mut EmuDevice,
    prepared: &PreparedCase<'_>,
    program: &CaseProgram,
    variant: &Variant,
    modules: Modules<'_>,
    seed: u64,
) -> Result<Option<Sampled>, Error> {
    let Some(of) = separable(program, variant) else { return Ok(None) };
    if of <= COUNT as u64 || !prepared.is_compared_by_element() {
        return Ok(None);
    }
    device.sample_blocks(Some((COUNT, seed)));
    let ran = written(device, prepared, program, modules);
    device.sample_blocks(None);
    // Findings about a part of the grid are none about the case.
    drop(device.observed());
    let (outputs, elements) = match ran {
        Ok(found) => found,
        Err(LaunchError::Machine(error)) => return Err(error.into()),
        // The writes of another block may be missing.
        Err(LaunchError::Kernel { .. } | LaunchError::Budget { .. }) => return Ok(None),
    };
    let compared = outputs.iter().enumerate();
    let mut compared = compared.map(|(index, bytes)| prepared.compare(index, bytes, &|_| false));
    let Some(mismatch) = compared.find_map(|output| output.mismatch) else {
        return Ok((elements > 0).then_some(Sampled::Right { blocks: COUNT, of, elements }));
    };
    let finding = Finding::new(format!(
        "found in what {COUNT} of the {of} blocks write: the emulator had no time for the others"
    ));
    let mut result = failed(prepared.case, Verdict::WrongOutput, device.level(), finding);
    result.mismatch = Some(mismatch);
    Ok(Some(Sampled::Wrong(Box::new(result))))
}

/// Returns the number of blocks of a case whose blocks have nothing to do with each other.
fn separable(program: &CaseProgram, variant: &Variant) -> Option<u64> {
    let [Step::Launch { grid, attributes, .. }] = program.plan.steps.as_slice() else {
        return None;
    };
    let apart = attributes.is_plain()
        && program.plan.scratch.is_empty()
        && analyse(&variant.ptx).is_ok_and(|facts| !facts.global_atomics);
    apart.then(|| grid.iter().map(|&extent| u64::from(extent)).product())
}

/// Runs the case and returns its outputs, with the reference where nobody wrote, and the number of
/// elements that somebody wrote.
fn written(
    device: &mut EmuDevice,
    prepared: &PreparedCase<'_>,
    program: &CaseProgram,
    modules: Modules<'_>,
) -> Result<(Vec<Vec<u8>>, usize), LaunchError> {
    let PreparedCase { case, inputs, outputs, .. } = prepared;
    let session = Session::open(device, case, program, modules, inputs, outputs)?;
    let ran = session.poison(device, POISON).and_then(|()| session.run(device));
    let read = ran.and_then(|()| {
        let mut elements = 0;
        let mut all = Vec::new();
        for index in 0..outputs.len() {
            let mut bytes = session.output(device, index)?;
            let unwritten = session.unwritten(device, index).unwrap_or_default();
            elements += fill_unwritten(prepared, index, &mut bytes, &unwritten);
            all.push(bytes);
        }
        Ok((all, elements))
    });
    session.close(device);
    read
}

/// Puts the reference where nobody wrote; returns the number of other elements.
fn fill_unwritten(
    prepared: &PreparedCase<'_>,
    output: usize,
    bytes: &mut [u8],
    unwritten: &[bool],
) -> usize {
    let dtype = prepared.outputs[output].1.dtype;
    let size = dtype.size();
    let mut elements = 0;
    let all = bytes.chunks_exact_mut(size).zip(unwritten.chunks_exact(size));
    for ((bytes, unwritten), &value) in all.zip(prepared.references(output)) {
        if unwritten.iter().all(|&byte| byte) {
            encode(dtype, value, bytes);
        } else {
            elements += 1;
        }
    }
    elements
}

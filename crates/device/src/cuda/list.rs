//! The GPUs of the machine, and their facts.

use cudarc::driver::{
    result::device,
    sys::{CUdevice, CUdevice_attribute},
};
use kgen_record::{Target, hex};
use kgen_settings::{DeviceChoice, GpuSet};

use super::driver::{init, is_present, machine, version};
use crate::Error;

/// Returns the facts of every GPU that the driver shows, in its order.
///
/// # Errors
///
/// [`Error::NoDriver`] and [`Error::NoGpu`] where there is nothing to list, [`Error::Driver`]
/// where the driver does not answer.
pub fn gpus() -> Result<Vec<Target>, Error> {
    init()?;
    let count = device::get_count().map_err(|error| machine("count the GPUs", error))?;
    (0..count.unsigned_abs()).map(|ordinal| facts(get(ordinal)?)).collect()
}

/// Returns the CUDA version that the driver runs, for example 13000; `None` without a driver.
/// Does not start the driver.
#[must_use]
pub fn driver_version() -> Option<u32> {
    is_present().then(version)?.ok()
}

/// Returns the indices of the GPUs to use; none stands for the emulator.
///
/// # Errors
///
/// When GPUs are asked for: [`Error::NoDriver`], [`Error::NoGpu`], [`Error::NoSuchGpu`] or the
/// driver's error. `auto` takes the emulator then.
pub fn choose(choice: DeviceChoice) -> Result<Vec<u32>, Error> {
    let there = |ordinals: Vec<u32>| {
        init()?;
        ordinals.iter().try_for_each(|&ordinal| get(ordinal).map(drop))?;
        Ok(ordinals)
    };
    match choice {
        DeviceChoice::Emu => Ok(Vec::new()),
        DeviceChoice::Auto => Ok(there(vec![0]).unwrap_or_default()),
        DeviceChoice::Cuda(ordinal) => there(vec![ordinal]),
        DeviceChoice::Gpus(set) => there(set.indices().collect()),
        DeviceChoice::AllGpus => {
            init()?;
            let count = device::get_count().map_err(|error| machine("count the GPUs", error))?;
            Ok((0..count.unsigned_abs().min(GpuSet::LIMIT)).collect())
        }
    }
}

/// Returns the driver's handle of a GPU.
pub(super) fn get(ordinal: u32) -> Result<CUdevice, Error> {
    let no_such = || Error::NoSuchGpu { ordinal };
    let count = device::get_count().map_err(|error| machine("count the GPUs", error))?;
    if ordinal >= count.unsigned_abs() {
        return Err(no_such());
    }
    let ordinal = i32::try_from(ordinal).map_err(|_| no_such())?;
    device::get(ordinal).map_err(|error| machine("open the GPU", error))
}

/// Reads the facts of a GPU.
pub(super) fn facts(gpu: CUdevice) -> Result<Target, Error> {
    const ACTION: &str = "read the GPU's attributes";
    let attribute = |which| {
        // SAFETY: the handle is one that the driver gave.
        let value = unsafe { device::get_attribute(gpu, which) };
        value.map(i32::unsigned_abs).map_err(|error| machine(ACTION, error))
    };
    let cc_major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let cc_minor = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let clock = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0);
    let bus =
        attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH).unwrap_or(0);
    // SAFETY: as above.
    let memory = unsafe { device::total_mem(gpu) }.map_err(|error| machine(ACTION, error))?;
    let uuid = device::get_uuid(gpu).map_err(|error| machine(ACTION, error))?;
    Ok(Target {
        name: device::get_name(gpu).map_err(|error| machine(ACTION, error))?,
        arch: arch(cc_major, cc_minor),
        cc_major,
        cc_minor,
        sm_count: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        smem_max: attribute(
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )?,
        l2_bytes: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        memory_bytes: memory as u64,
        peak_bandwidth: peak_bandwidth(clock, bus),
        uuid: Some(uuid_text(uuid.bytes.map(|byte| byte.to_ne_bytes()[0]))),
        driver_version: Some(version()?),
    })
}

/// Returns the architecture to compile for: with the features of exactly this GPU (suffix `a`)
/// where there are any.
fn arch(major: u32, minor: u32) -> String {
    let suffix = if major >= 9 { "a" } else { "" };
    format!("sm_{major}{minor}{suffix}")
}

/// Returns the peak bandwidth in bytes per second: two transfers per clock over the bus.
///
/// `clock`: the memory's clock in kHz; `bus`: the bus's width in bits; 0 where unknown.
fn peak_bandwidth(clock: u32, bus: u32) -> Option<f64> {
    let peak = 2.0 * f64::from(clock) * 1e3 * f64::from(bus) / 8.0;
    (peak > 0.0).then_some(peak)
}

/// Writes a UUID as `nvidia-smi` does.
fn uuid_text(bytes: [u8; 16]) -> String {
    let hex = hex(&bytes);
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_written_as_people_know_them() {
        assert_eq!(arch(9, 0), "sm_90a");
        assert_eq!(arch(8, 9), "sm_89");
        assert_eq!(arch(10, 0), "sm_100a");
        assert_eq!(peak_bandwidth(3_201_000, 6144), Some(4_916_736_000_000.0));
        assert_eq!(peak_bandwidth(0, 6144), None);
        assert_eq!(
            uuid_text(*b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"),
            "GPU-01234567-89ab-cdef-0123-456789abcdef"
        );
    }

    #[test]
    fn a_machine_without_a_driver_says_so_instead_of_panicking() {
        assert!(choose(DeviceChoice::Emu).unwrap().is_empty());
        if !is_present() {
            assert!(choose(DeviceChoice::Auto).unwrap().is_empty());
            for choice in [DeviceChoice::Cuda(0), DeviceChoice::AllGpus] {
                assert!(matches!(choose(choice), Err(Error::NoDriver)));
            }
            assert!(matches!(gpus(), Err(Error::NoDriver)));
            assert_eq!(driver_version(), None);
        }
    }
}

//! Facts about a GPU from the driver's management library. Everything is optional: the library may be
//! missing, and in a container much of it is not permitted.

use std::sync::OnceLock;

use kgen_measure::{Fingerprint, Health, Throttle};
use nvml_wrapper::{
    Device, Nvml,
    bitmasks::device::ThrottleReasons,
    enum_wrappers::device::{Clock, ClockId},
};

use super::foreign_processes;

/// The library; loaded once, or found missing once.
static LIBRARY: OnceLock<Result<Nvml, String>> = OnceLock::new();

/// Watches one GPU.
#[derive(Debug)]
pub(super) struct Monitor {
    device: Device<'static>,
    max_sm_mhz: Option<f64>,
}

impl Monitor {
    /// Finds a GPU by its UUID, as `nvidia-smi` prints it; an error in one line where it cannot be
    /// watched.
    pub(super) fn open(uuid: &str) -> Result<Self, String> {
        let library = LIBRARY.get_or_init(|| Nvml::init().map_err(|error| error.to_string()));
        let library = library.as_ref().map_err(|error| {
            format!("clocks and throttling are not watched: NVML cannot be used: {error}")
        })?;
        let device = library.device_by_uuid(uuid).map_err(|error| {
            format!("clocks and throttling are not watched: NVML does not know {uuid}: {error}")
        })?;
        let max_sm_mhz = device.max_clock_info(Clock::SM).ok().map(f64::from);
        Ok(Self { device, max_sm_mhz })
    }

    /// Returns how the GPU is at the moment.
    pub(super) fn health(&self) -> Health {
        let reasons = self.device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
        Health {
            sm_mhz: self.device.clock_info(Clock::SM).ok().map(f64::from),
            max_sm_mhz: self.max_sm_mhz,
            throttle: throttle(reasons),
        }
    }

    /// Returns the energy counter of the board, in millijoules.
    #[expect(clippy::cast_precision_loss, reason = "the counter stays far below 2^53")]
    pub(super) fn energy_mj(&self) -> Option<f64> {
        self.device.total_energy_consumption().ok().map(|millijoules| millijoules as f64)
    }

    /// Adds its facts to a fingerprint.
    pub(super) fn describe(&self, fingerprint: &mut Fingerprint) {
        let device = &self.device;
        if let Some(Ok(library)) = LIBRARY.get() {
            fingerprint.driver = library.sys_driver_version().ok();
        }
        fingerprint.max_sm_mhz = self.max_sm_mhz.or(fingerprint.max_sm_mhz);
        fingerprint.memory_mhz = device.max_clock_info(Clock::Memory).ok().map(f64::from);
        fingerprint.bus_bits = device.memory_bus_width().ok();
        fingerprint.vbios = device.vbios_version().ok();
        fingerprint.mig = device.mig_mode().ok().map(|mode| mode.current != 0);
        fingerprint.ecc = device.is_ecc_enabled().ok().map(|state| state.currently_enabled);
        let watts = device.enforced_power_limit().ok();
        fingerprint.power_limit_w = watts.map(|milliwatts| f64::from(milliwatts) / 1e3);
        fingerprint.persistence = device.is_in_persistent_mode().ok();
        let target = device.clock(Clock::SM, ClockId::TargetAppClock).ok();
        fingerprint.clocks_locked =
            target.zip(device.clock(Clock::SM, ClockId::DefaultAppClock).ok()).map(|(a, b)| a != b);
    }

    /// Counts the processes on the GPU that are not kgen's, given the numbers of those that are;
    /// `None` where the driver does not report them.
    pub(super) fn n_foreign(&self, own: &[u32]) -> Option<u32> {
        let listed = self.device.running_compute_processes().ok()?;
        let listed: Vec<u32> = listed.iter().map(|process| process.pid).collect();
        foreign_processes::n_foreign(&listed, own)
    }
}

fn throttle(reasons: ThrottleReasons) -> Throttle {
    Throttle {
        hw_slowdown: reasons.contains(ThrottleReasons::HW_SLOWDOWN),
        sw_thermal: reasons.contains(ThrottleReasons::SW_THERMAL_SLOWDOWN),
        // The wrapper does not say why the hardware slows down: both reasons set `hw_slowdown` too.
        hw_thermal: false,
        power_brake: false,
        power_cap: reasons.contains(ThrottleReasons::SW_POWER_CAP),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_apart() {
        let found = throttle(ThrottleReasons::SW_POWER_CAP | ThrottleReasons::GPU_IDLE);
        assert_eq!(found, Throttle { power_cap: true, ..Throttle::default() });
        let found = throttle(ThrottleReasons::HW_SLOWDOWN | ThrottleReasons::SW_THERMAL_SLOWDOWN);
        assert!(found.hw_slowdown && found.sw_thermal && !found.power_cap);
    }

    #[test]
    fn without_the_library_there_is_a_line_and_no_failure() {
        if let Err(line) = Monitor::open("GPU-00000000-0000-0000-0000-000000000000") {
            assert!(line.starts_with("clocks and throttling are not watched: NVML"), "{line}");
            assert!(!line.contains('\n'));
        }
    }
}

//! The simulated machine: driver, devices, and what can be asked about them.

use crate::error::{Answer, Code};
use crate::state::{self, Major, State};

/// When queued work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// When something synchronises; each query runs one step.
    Late,
    /// At once.
    Early,
    /// A few steps in each call, by a generator with this state.
    Random(u64),
}

/// What answers behind the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    Ready,
    None,
    NoDevice,
    TooOld,
    Stub,
    Code(i32),
}

/// What `sim_control` sets.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) schedule: Schedule,
    pub(crate) devices: u32,
    pub(crate) driver: Driver,
    pub(crate) driver_version: Option<i32>,
    /// The device uses the host's address of pinned memory.
    pub(crate) pinned_same: bool,
    pub(crate) memory_pools: bool,
    pub(crate) host_read_only: bool,
    /// Calls that returned are known to all later ones, on whatever thread.
    pub(crate) host_order_by_calls: bool,
    /// How long a wait for a host function may take before it is called a deadlock.
    pub(crate) patience_ms: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            schedule: Schedule::Late,
            devices: 1,
            driver: Driver::Ready,
            driver_version: None,
            pinned_same: true,
            memory_pools: true,
            host_read_only: true,
            host_order_by_calls: true,
            patience_ms: 30_000,
        }
    }
}

impl Settings {
    /// What `cudaDriverGetVersion` answers.
    pub(crate) fn driver_version(&self) -> i32 {
        let own = state::major().version();
        match self.driver {
            Driver::None => 0,
            Driver::TooOld => self.driver_version.unwrap_or((own / 1000 - 1) * 1000),
            _ => self.driver_version.unwrap_or(own),
        }
    }

    fn driver_answer(&self) -> Answer {
        match self.driver {
            Driver::None | Driver::NoDevice => Err(Code::NO_DEVICE),
            Driver::Stub => Err(Code::STUB_LIBRARY),
            Driver::Code(code) => Err(Code(code)),
            Driver::Ready | Driver::TooOld => Ok(()),
        }
    }
}

/// One device that the process may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    /// Number in the machine; the ordinal may differ by `CUDA_VISIBLE_DEVICES`.
    physical: u32,
}

impl Device {
    pub(crate) fn name(self) -> String {
        format!("Simulated GPU {}", self.physical)
    }

    pub(crate) fn uuid(self) -> [u8; 16] {
        let mut uuid = *b"edgefirst-sim\0\0\0";
        uuid[15] = self.index();
        uuid
    }

    pub(crate) fn luid(self) -> [u8; 8] {
        let mut luid = *b"simluid\0";
        luid[7] = self.index();
        luid
    }

    pub(crate) fn bus(self) -> i32 {
        i32::from(self.index()) + 1
    }

    pub(crate) fn pci_bus_id(self) -> String {
        format!("0000:{:02X}:00.0", self.bus())
    }

    /// `GPU-` and the UUID in hexadecimal, as `CUDA_VISIBLE_DEVICES` may name it.
    fn uuid_name(self) -> String {
        let hex: Vec<String> = self.uuid().iter().map(|byte| format!("{byte:02x}")).collect();
        let hex = hex.concat();
        format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    fn index(self) -> u8 {
        u8::try_from(self.physical).unwrap_or(u8::MAX)
    }
}

impl State {
    /// The devices, in the order of their ordinals. The list of `CUDA_VISIBLE_DEVICES` ends at its first
    /// entry that names none.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let all: Vec<_> = (0..self.settings.devices).map(|physical| Device { physical }).collect();
        let Some(list) = &self.visible else {
            return all;
        };
        let named = |entry: &str| {
            let by_number = entry.parse::<usize>().ok().and_then(|number| all.get(number));
            let by_uuid = || all.iter().find(|device| !entry.is_empty() && device.uuid_name().starts_with(entry));
            by_number.or_else(by_uuid).copied()
        };
        list.split(',').map(str::trim).map_while(named).collect()
    }

    /// The device with an ordinal.
    pub(crate) fn device(&self, ordinal: i32) -> Answer<(u32, Device)> {
        let devices = self.devices();
        let ordinal = u32::try_from(ordinal).map_err(|_| Code::INVALID_DEVICE)?;
        let device = devices.get(ordinal as usize).ok_or(Code::INVALID_DEVICE)?;
        Ok((ordinal, *device))
    }

    /// What the first call of the runtime does that needs a driver: looks whether it is recent enough, and
    /// initialises it.
    pub(crate) fn initialise_runtime(&mut self) -> Answer {
        let versions = [self.settings.driver_version(), state::major().version()];
        let [driver, runtime] = versions.map(|version| version / 1000);
        if self.settings.driver == Driver::None || driver < runtime {
            return Err(Code::INSUFFICIENT_DRIVER);
        }
        self.initialise()
    }

    /// `cuInit`. Where there is no driver there would be no such function; here it finds no device.
    pub(crate) fn initialise(&mut self) -> Answer {
        self.settings.driver_answer()?;
        self.initialised = true;
        crate::fork::remember_process();
        match self.devices().is_empty() {
            true => Err(Code::NO_DEVICE),
            false => Ok(()),
        }
    }

    /// The attributes that interop code asks for. Others are refused, where a real device would know them.
    pub(crate) fn attribute(&self, attribute: i32, device: Device) -> Answer<i32> {
        let flag = |on: bool| Ok(i32::from(on));
        match attribute {
            1 => Ok(1024),
            10 => Ok(32),
            14 => Ok(512),
            16 => Ok(1),
            18 | 34 | 50 | 88 | 100 => Ok(0),
            19 | 31 | 40 | 41 | 99 => Ok(1),
            33 => Ok(device.bus()),
            75 => Ok(9),
            76 => Ok(0),
            91 => flag(self.settings.pinned_same),
            113 => flag(self.settings.host_read_only),
            115 => flag(self.settings.memory_pools),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// The runtime of 11 asks the driver before it tells its own version.
pub(crate) fn version_needs_driver() -> bool {
    state::major() == Major::V11
}

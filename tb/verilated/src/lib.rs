// SPDX-License-Identifier: Apache-2.0
//! Verilated models of the RTL through `cxx`, one call per clock.
//!
//! [`Dut`] is the whole unit (`tpt_top`) in one of the named configurations, [`FlatDut`] is any
//! small top of `sv/`. This is the only crate with `unsafe` in it (the `cxx` bridge).
//!
//! One [`Dut::tick`] is one clock: the inputs are driven while the clock is low, the outputs are
//! sampled, then comes the rising edge. A transfer happens in a clock in which valid and ready were
//! both sampled high. A failed assertion of the RTL makes `tick` return an error; it never ends the
//! process, and it is never lost.
//!
//! ```
//! use tpt_verilated::{Config, Dut, DutOptions, Inputs, Outputs};
//! let mut dut = Dut::new(Config::Small, &DutOptions::default()).unwrap();
//! let (inputs, mut outputs) = (Inputs::default(), Outputs::default());
//! for _ in 0..4 {
//!     dut.tick(&inputs, &mut outputs).unwrap(); // rst_n is false: reset
//! }
//! assert!(!outputs.axi.arvalid);
//! ```
#![warn(missing_docs)]

use std::path::{Path, PathBuf};

use cxx::UniquePtr;

/// Most clients of a built model; [`Sizes::clients`] tells how many there are.
pub const MAX_CLIENTS: usize = 4;
/// 32-bit words of a request payload (195 bits).
pub const REQ_WORDS: usize = 7;
/// 32-bit words of a response payload (120 bits).
pub const RSP_WORDS: usize = 4;
/// 32-bit words of a command payload (603 bits).
pub const CMD_WORDS: usize = 19;
/// 32-bit words of a completion payload (624 bits).
pub const CPL_WORDS: usize = 20;
/// 32-bit words of the widest AXI data.
pub const AXI_WORDS: usize = 16;

#[allow(missing_docs)] // the macro makes undocumented items
#[cxx::bridge(namespace = "tpt")]
mod ffi {
    /// Inputs of the AXI4-Lite port.
    #[derive(Clone, Debug, Default)]
    struct AxilIn {
        awvalid: bool,
        awaddr: u16,
        wvalid: bool,
        wdata: u32,
        wstrb: u8,
        bready: bool,
        arvalid: bool,
        araddr: u16,
        rready: bool,
    }

    /// Outputs of the AXI4-Lite port.
    #[derive(Clone, Debug, Default)]
    struct AxilOut {
        awready: bool,
        wready: bool,
        bvalid: bool,
        bresp: u8,
        arready: bool,
        rvalid: bool,
        rresp: u8,
        rdata: u32,
    }

    /// Inputs of the AXI4 manager port: what the memory drives.
    #[derive(Clone, Debug, Default)]
    struct AxiIn {
        arready: bool,
        awready: bool,
        wready: bool,
        rvalid: bool,
        rid: u16,
        rresp: u8,
        rlast: bool,
        rdata: [u32; 16],
        bvalid: bool,
        bid: u16,
        bresp: u8,
    }

    /// Outputs of the AXI4 manager port. The payload of a channel is only valid with its valid.
    #[derive(Clone, Debug, Default)]
    struct AxiOut {
        arvalid: bool,
        arid: u16,
        araddr: u64,
        arlen: u8,
        arsize: u8,
        arburst: u8,
        awvalid: bool,
        awid: u16,
        awaddr: u64,
        awlen: u8,
        awsize: u8,
        awburst: u8,
        wvalid: bool,
        wlast: bool,
        wstrb: u64,
        wdata: [u32; 16],
        rready: bool,
        bready: bool,
    }

    /// All inputs of the unit in one clock. Client `c` has `req[7c..7c+7]`.
    #[derive(Clone, Debug, Default)]
    struct Inputs {
        rst_n: bool,
        axil: AxilIn,
        req_valid: [bool; 4],
        req: [u32; 28],
        rsp_ready: [bool; 4],
        done_valid: [bool; 4],
        done_tag: [u16; 4],
        cmd_valid: bool,
        cmd: [u32; 19],
        cpl_ready: bool,
        axi: AxiIn,
    }

    /// All outputs of the unit in one clock. Client `c` has `rsp[4c..4c+4]`, and bits 4c to 4c + 3 of
    /// `req_room`, one for each partition. Payloads keep the
    /// value of the last clock with their valid.
    #[derive(Clone, Debug, Default)]
    struct Outputs {
        axil: AxilOut,
        irq: bool,
        req_ready: [bool; 4],
        req_room: u16,
        rsp_valid: [bool; 4],
        rsp: [u32; 16],
        done_ready: [bool; 4],
        cmd_ready: bool,
        cpl_valid: bool,
        cpl: [u32; 20],
        axi: AxiOut,
    }

    unsafe extern "C++" {
        include!("tpt-verilated/cpp/model.h");

        type TopModel;
        type FlatModel;

        fn new_top(config: &str, seed: u32) -> UniquePtr<TopModel>;
        fn new_flat(top: &str, seed: u32) -> UniquePtr<FlatModel>;

        fn tick(self: Pin<&mut TopModel>, inputs: &Inputs, outputs: &mut Outputs) -> bool;
        fn open_waves(self: Pin<&mut TopModel>, path: &str) -> bool;
        fn close_waves(self: Pin<&mut TopModel>);
        fn take_report(self: &TopModel) -> String;

        fn tick_words(self: Pin<&mut FlatModel>, inputs: &[u32], outputs: &mut [u32]) -> bool;
        fn open_waves(self: Pin<&mut FlatModel>, path: &str) -> bool;
        fn take_report(self: &FlatModel) -> String;
    }
}

pub use ffi::{AxiIn, AxiOut, AxilIn, AxilOut, Inputs, Outputs};

/// A named configuration of `rtl/configs.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Config {
    /// 16 contexts, 64 MPT entries, 128 MTT lines, 128-bit memory port.
    Small,
    /// 128 contexts, 512 MPT entries, 2,048 MTT lines, 512-bit memory port.
    Default,
    /// 256 contexts, 4,096 MPT entries, 16,384 MTT lines, 512-bit memory port, tables of up to 4
    /// levels.
    Large,
    /// Two clients in front of two lanes.
    Lanes2,
    /// Four clients in front of four lanes.
    Lanes4,
}

/// Sizes of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Clients.
    pub clients: u32,
    /// Lanes: requests that are taken per clock.
    pub lanes: u32,
    /// Requests that can be inside at once.
    pub contexts: u32,
    /// Sets of the MPT cache.
    pub mpt_sets: u32,
    /// Ways of the MPT cache.
    pub mpt_ways: u32,
    /// Sets of the MTT cache.
    pub mtt_sets: u32,
    /// Ways of the MTT cache.
    pub mtt_ways: u32,
    /// Sets of the directory, which is direct mapped.
    pub dir_sets: u32,
    /// Bytes of one beat of the memory port; also of one MTT line.
    pub axi_bytes: u32,
    /// Deepest tree of table pages.
    pub max_levels: u8,
    /// The queues in memory are there.
    pub queues: bool,
    /// Table entries may be CHECKED.
    pub checked: bool,
    /// Slots for page faults; 0: no on-demand regions.
    pub fault_slots: u32,
    /// Host windows.
    pub host_windows: u32,
    /// Most partitions of caches and contexts.
    pub partitions: u32,
    /// Bad keys are counted.
    pub guess_alarm: bool,
    /// Slots of PDs that count them.
    pub alarm_pds: u32,
    /// Refusals of peers can wait for a fixed time.
    pub refusal_time: bool,
    /// Commands that can wait for a fence.
    pub fences: u32,
    /// The model is part of this build.
    pub built: bool,
}

/// A port of a flat model.
#[derive(Clone, Copy, Debug)]
struct Port {
    name: &'static str,
    input: bool,
    width: usize,
    word: usize,
}

/// What the model `board` is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Its clock: that of the bitstream, from `fpga/boards.toml`.
    pub clock_hz: u32,
    /// Bits per second of its line, from `fpga/rtl/tpt_board.sv`.
    pub baud: u32,
}

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

impl Config {
    /// All configurations.
    pub const ALL: [Self; 5] = [
        Self::Small,
        Self::Default,
        Self::Large,
        Self::Lanes2,
        Self::Lanes4,
    ];

    /// Name in `rtl/configs.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Default => "default",
            Self::Large => "large",
            Self::Lanes2 => "lanes2",
            Self::Lanes4 => "lanes4",
        }
    }

    /// Sizes of the configuration.
    pub fn sizes(self) -> Sizes {
        let none = Sizes {
            clients: 0,
            lanes: 0,
            contexts: 0,
            mpt_sets: 0,
            mpt_ways: 0,
            mtt_sets: 0,
            mtt_ways: 0,
            dir_sets: 0,
            axi_bytes: 0,
            max_levels: 0,
            queues: false,
            checked: false,
            fault_slots: 0,
            host_windows: 0,
            partitions: 1,
            guess_alarm: false,
            alarm_pds: 16,
            refusal_time: false,
            fences: 0,
            built: false,
        };
        SIZES
            .iter()
            .find(|(name, _)| *name == self.name())
            .map_or(none, |(_, sizes)| *sizes)
    }
}

impl std::str::FromStr for Config {
    type Err = DutError;

    fn from_str(name: &str) -> Result<Self, DutError> {
        Self::ALL
            .into_iter()
            .find(|config| config.name() == name)
            .ok_or_else(|| DutError::NoModel(name.to_owned()))
    }
}

/// What goes wrong with a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DutError {
    /// An assertion of the RTL failed.
    #[error("clock {clock}: {text}")]
    Assertion {
        /// Clocks since the model was made.
        clock: u64,
        /// What the model printed.
        text: String,
    },
    /// The model is not part of this build.
    #[error("model `{0}` is not built (see TPT_CONFIGS)")]
    NoModel(String),
    /// The waveform file cannot be written.
    #[error("cannot record waves to {0} (feature `trace` off, file not writable, or recording)")]
    Waves(PathBuf),
}

/// Options of a new model.
#[derive(Clone, Debug, Default)]
pub struct DutOptions {
    /// Seed of the values that registers and memories have before the reset.
    pub seed: u64,
    /// FST file of the whole run.
    pub waves: Option<PathBuf>,
}

fn fold_seed(seed: u64) -> u32 {
    (seed ^ (seed >> 32)) as u32
}

fn utf8(path: &Path) -> Result<&str, DutError> {
    path.to_str()
        .ok_or_else(|| DutError::Waves(path.to_owned()))
}

/// The unit in one configuration.
pub struct Dut {
    model: UniquePtr<ffi::TopModel>,
    config: Config,
    clock: u64,
}

impl Dut {
    /// A model before its reset. Hold `rst_n` low for some clocks first.
    pub fn new(config: Config, options: &DutOptions) -> Result<Self, DutError> {
        let model = ffi::new_top(config.name(), fold_seed(options.seed));
        if model.is_null() {
            return Err(DutError::NoModel(config.name().to_owned()));
        }
        let mut dut = Self {
            model,
            config,
            clock: 0,
        };
        if let Some(path) = &options.waves {
            dut.open_waves(path)?;
        }
        Ok(dut)
    }

    /// Its configuration.
    pub fn config(&self) -> Config {
        self.config
    }

    /// Clocks so far.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// One clock.
    #[inline]
    pub fn tick(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), DutError> {
        let good = self.model.pin_mut().tick(inputs, outputs);
        self.clock += 1;
        if good {
            return Ok(());
        }
        Err(DutError::Assertion {
            clock: self.clock - 1,
            text: self.model.take_report(),
        })
    }

    /// Records from this clock on.
    pub fn open_waves(&mut self, path: &Path) -> Result<(), DutError> {
        if self.model.pin_mut().open_waves(utf8(path)?) {
            Ok(())
        } else {
            Err(DutError::Waves(path.to_owned()))
        }
    }

    /// Ends the recording; nothing happens if there is none.
    pub fn close_waves(&mut self) {
        self.model.pin_mut().close_waves();
    }
}

/// A small top of `sv/`: ports by name, each up to any width, as 32-bit words.
pub struct FlatDut {
    model: UniquePtr<ffi::FlatModel>,
    ports: &'static [Port],
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    clock: u64,
}

/// Place of a port in a [`FlatDut`]; look it up once, use it every clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRef {
    input: bool,
    width: usize,
    word: usize,
}

impl PortRef {
    /// Width in bits.
    pub fn width(self) -> usize {
        self.width
    }

    fn range(self) -> std::ops::Range<usize> {
        self.word..self.word + self.width.div_ceil(32)
    }
}

impl FlatDut {
    /// A model before its reset; all inputs are 0.
    pub fn new(top: &str, options: &DutOptions) -> Result<Self, DutError> {
        let model = ffi::new_flat(top, fold_seed(options.seed));
        let Some((_, ports)) = FLAT_PORTS.iter().find(|(name, _)| *name == top) else {
            return Err(DutError::NoModel(top.to_owned()));
        };
        if model.is_null() {
            return Err(DutError::NoModel(top.to_owned()));
        }
        let words = |input: bool| {
            ports
                .iter()
                .filter(|port| port.input == input)
                .map(|port| port.width.div_ceil(32))
                .sum::<usize>()
        };
        let mut dut = Self {
            model,
            ports,
            inputs: vec![0; words(true)],
            outputs: vec![0; words(false)],
            clock: 0,
        };
        if let Some(path) = &options.waves {
            if !dut.model.pin_mut().open_waves(utf8(path)?) {
                return Err(DutError::Waves(path.clone()));
            }
        }
        Ok(dut)
    }

    /// Whether `top` is part of this build.
    pub fn is_built(top: &str) -> bool {
        FLAT_PORTS.iter().any(|(name, _)| *name == top)
    }

    /// The port `name`.
    ///
    /// # Panics
    /// If there is none: the text of the bench does not fit the top.
    pub fn port(&self, name: &str) -> PortRef {
        match self.ports.iter().find(|port| port.name == name) {
            Some(port) => PortRef {
                input: port.input,
                width: port.width,
                word: port.word,
            },
            None => panic!("no port `{name}`"),
        }
    }

    /// Drives an input from the next clock on; missing upper words are 0.
    pub fn set(&mut self, port: PortRef, words: &[u32]) {
        assert!(port.input, "an output cannot be driven");
        for (word, place) in self.inputs[port.range()].iter_mut().enumerate() {
            *place = words.get(word).copied().unwrap_or(0);
        }
    }

    /// Drives an input of up to 64 bits.
    pub fn set_u64(&mut self, port: PortRef, value: u64) {
        self.set(port, &[value as u32, (value >> 32) as u32]);
    }

    /// Words of a port as sampled in the last clock (of an input: as driven).
    pub fn get(&self, port: PortRef) -> &[u32] {
        if port.input {
            &self.inputs[port.range()]
        } else {
            &self.outputs[port.range()]
        }
    }

    /// The low 64 bits of a port.
    pub fn get_u64(&self, port: PortRef) -> u64 {
        let words = self.get(port);
        u64::from(words[0]) | u64::from(words.get(1).copied().unwrap_or(0)) << 32
    }

    /// Clocks so far.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// One clock.
    pub fn tick(&mut self) -> Result<(), DutError> {
        let good = self
            .model
            .pin_mut()
            .tick_words(&self.inputs, &mut self.outputs);
        self.clock += 1;
        if good {
            return Ok(());
        }
        Err(DutError::Assertion {
            clock: self.clock - 1,
            text: self.model.take_report(),
        })
    }
}

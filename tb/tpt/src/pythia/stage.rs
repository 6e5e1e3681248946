// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What every attack stands on: the simulated unit with two tenants, of whom each sees nothing but
//! how long its own requests take.

use anyhow::Result;
use tpt_bench::axi::{AxiConfig, Sample};
use tpt_bench::rig::{scatter, Mr, Rig, Spec, ALL_RIGHTS};
use tpt_bench::{BenchOptions, Clocks, CommandExtra, Issue, Outcome, Tenants, UnitConfig};
use tpt_golden::mtt::{Shape, Table};
use tpt_golden::regs;
use tpt_golden::types::{Access, Command, Completion, Op, Request, Role, Status};
use tpt_verilated::{Config, Sizes};

use super::PythiaError;

/// Latency of memory, clocks. A longer one is easier to see.
pub const MEMORY: u32 = 40;
/// Client of remote requests; both tenants use it.
pub const REMOTE: usize = 1;
/// Client of local requests.
pub const LOCAL: usize = 0;
/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Bytes of a request.
pub const BYTES: u32 = 64;
/// Address of the first region.
const START: u64 = 0x7f00_0000_0000;
/// Where data pages lie: they are never touched.
const DATA: u64 = 1 << 45;
/// log2 of the PDs of a group of [`regs::ISOLATION`].
const PD_SHIFT: u8 = 4;

/// A tenant: a protection domain, and a stream of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenant {
    /// The attacker, who receives.
    A,
    /// The victim, or who sends to the attacker.
    B,
}

impl Tenant {
    fn group(self) -> u32 {
        match self {
            Self::A => 1,
            Self::B => 2,
        }
    }

    /// Its partition, if there are two.
    fn partition(self) -> u32 {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }

    /// Its protection domain.
    pub fn pd(self) -> u32 {
        self.group() << PD_SHIFT
    }

    /// Its stream.
    pub fn stream(self) -> u8 {
        self.group() as u8
    }
}

/// How a stage is set.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Configuration of the unit.
    pub config: Config,
    /// Start of all random choices.
    pub seed: u64,
    /// Entries of the table of regions.
    pub table: u32,
    /// The tenants are in partitions of their own.
    pub isolated: bool,
    /// Clocks after which a peer is told a refusal; 0: at once.
    pub refusal_time: u32,
}

/// The unit, enabled, and its host.
pub struct Stage {
    /// Bench and host.
    pub rig: Rig,
    next_va: u64,
    next_pa: u64,
}

impl Stage {
    /// Sets the stage.
    pub fn new(setup: &Setup) -> Result<Self> {
        let options = BenchOptions {
            config: setup.config,
            seed: setup.seed,
            // One latency, in order, never busy: noise would only hide what is to be found.
            axi: AxiConfig {
                read_latency: Clocks::fixed(MEMORY),
                write_latency: Clocks::fixed(MEMORY),
                sample: Sample::Early,
                ..AxiConfig::default()
            },
            ..BenchOptions::default()
        };
        let unit = UnitConfig {
            mpt_size: setup.table,
            tenants: tenants(setup)?,
            refusal_time: refusal_time(setup)?,
            ..UnitConfig::default()
        };
        let rig = Rig::new(options, &unit)?;
        Ok(Self {
            rig,
            next_va: START,
            next_pa: DATA,
        })
    }

    /// Sizes of the unit.
    pub fn sizes(&self) -> Sizes {
        self.rig.bench.config().sizes()
    }

    /// log2 of the entries of a table line.
    pub fn log_line(&self) -> u32 {
        (self.sizes().axi_bytes / 8).ilog2()
    }

    /// A region of `pages` pages of a tenant, with all rights but those of `without`.
    pub fn spec(&mut self, tenant: Tenant, pages: u64, level: u8, without: Access) -> Spec {
        let (start, pa) = (self.next_va, self.next_pa);
        let room = pages.next_power_of_two() * 2 * PAGE;
        (self.next_va, self.next_pa) = (start + room, pa + 2 * room);
        Spec {
            pd: tenant.pd(),
            start,
            length: pages * PAGE,
            access: Access(ALL_RIGHTS.0 & !without.0),
            list: scatter(12, pa, pages),
            shape: Shape {
                level: Some(level),
                lazy: pages > 4096,
                ..Shape::pages_of(12)
            },
        }
    }

    /// Registers a region with all rights.
    pub fn register(&mut self, tenant: Tenant, pages: u64, level: u8) -> Result<Mr> {
        let spec = self.spec(tenant, pages, level, Access::NONE);
        self.register_spec(spec)
    }

    /// Registers a region.
    pub fn register_spec(&mut self, spec: Spec) -> Result<Mr> {
        let table = self.rig.build_table(&spec);
        let made = self.register_table(&spec, &table)?;
        Ok(Mr {
            lkey: made.lkey,
            rkey: made.rkey,
            index: made.index,
            spec,
            table,
        })
    }

    /// Registers a region over a table that is there.
    pub fn register_table(&mut self, spec: &Spec, table: &Table) -> Result<Completion> {
        let command = self.rig.reg_command(spec, table);
        self.command(command, Rig::pages(spec))
    }

    /// Sends a command and wants it done.
    pub fn command(&mut self, command: Command, extra: CommandExtra) -> Result<Completion> {
        let completion = self.rig.command(command, extra)?;
        match completion.status {
            Status::Ok => Ok(completion),
            status => Err(PythiaError::command(&command, status)),
        }
    }

    /// The R_Key field of an index, for keys that were never given.
    pub fn remote_field(&self, index: u32) -> u32 {
        self.rig.bench.golden.keys().field(Role::Remote, index)
    }

    /// Sends a request and waits for its answer.
    pub fn access(&mut self, client: usize, request: Request) -> Result<Outcome> {
        self.access_with(client, request, Issue::default())
    }

    /// The same, with more to say about it.
    pub fn access_with(&mut self, client: usize, r: Request, issue: Issue) -> Result<Outcome> {
        let mem = &mut self.rig.host.mem;
        Ok(self.rig.bench.access_with(mem, client, r, issue)?)
    }

    /// Clocks from the acceptance of a remote request to its last beat: what a tenant can measure.
    pub fn latency(&mut self, request: Request) -> Result<u32> {
        Ok(latency(&self.access(REMOTE, request)?))
    }

    /// Waits for the end of a slot of `clocks` clocks, in which another tenant may have done something.
    /// A slot is as long whatever is done in it: only what is left behind in the unit tells.
    pub fn wait_until(&mut self, end: u64, clocks: u64) -> Result<()> {
        self.rig.wait_idle()?;
        let now = self.rig.bench.clock();
        let left = end.checked_sub(now).ok_or(PythiaError::Slot {
            clocks,
            late: now.saturating_sub(end),
        })?;
        Ok(self.rig.run(left)?)
    }
}

/// Clocks from the acceptance of a request to its last beat.
pub fn latency(outcome: &Outcome) -> u32 {
    (outcome.finished - outcome.accepted) as u32
}

/// A remote read of a tenant from a page of its region on.
pub fn read(tenant: Tenant, mr: &Mr, page: u64) -> Request {
    Request {
        stream: tenant.stream(),
        ..mr.request(Op::RemoteRead, mr.spec.start + page * PAGE, BYTES)
    }
}

/// How the unit is divided.
fn tenants(setup: &Setup) -> Result<Tenants, PythiaError> {
    if !setup.isolated {
        return Ok(Tenants::default());
    }
    if setup.config.sizes().partitions < 2 {
        return Err(PythiaError::NoPartitions);
    }
    let place = |map: u32, tenant: Tenant| map | tenant.partition() << (2 * tenant.group());
    Ok(Tenants {
        log_parts: 1,
        pd_shift: PD_SHIFT,
        map: [Tenant::A, Tenant::B].into_iter().fold(0, place),
    })
}

/// When refusals of peers leave.
fn refusal_time(setup: &Setup) -> Result<u16, PythiaError> {
    let (clocks, most) = (setup.refusal_time, regs::refusal_time::CLOCKS);
    if clocks == 0 {
        return Ok(0);
    }
    if !setup.config.sizes().refusal_time {
        return Err(PythiaError::NoRefusalTime);
    }
    match u16::try_from(clocks) {
        Ok(time) if clocks <= most => Ok(time),
        _ => Err(PythiaError::LongRefusal { clocks, most }),
    }
}

// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What every measurement stands on: the simulated unit with a memory of fixed latency, regions,
//! and loads that keep it busy.

use std::sync::Arc;

use anyhow::{bail, Result};
use tpt_bench::axi::{AxiConfig, Sample};
use tpt_bench::rig::{Mr, Rig, Spec};
use tpt_bench::rng::Rng;
use tpt_bench::{BenchError, BenchOptions, Clocks, Issue, UnitConfig};
use tpt_golden::codec::MPT_BYTES;
use tpt_golden::mtt::Table;
use tpt_golden::regs::counter;
use tpt_golden::types::{Encoding, Kind, Op, Request, State, Syndrome, LEVEL_FLAT, LEVEL_INLINE};
use tpt_golden::unit::Region;
use tpt_verilated::Config;

/// Clients that recorded programs use: one for local keys, one for remote ones.
pub const CLIENTS: usize = 2;
/// Streams of a client.
pub const STREAMS: u64 = 16;
/// Requests that a client keeps ready behind the one that it offers: enough for one per clock.
const AHEAD: usize = 2;

/// One request, and the region that judges it if its entry was written past the unit.
pub struct Shot {
    /// Request; its tag is chosen when it is offered.
    pub request: Request,
    /// Region of [`Scene::plant`].
    pub region: Option<Arc<Region>>,
}

impl From<Request> for Shot {
    fn from(request: Request) -> Self {
        Self {
            request,
            region: None,
        }
    }
}

/// Makes the next request; `None`: there are no more.
pub type Next<'a> = Box<dyn FnMut(&mut Rng) -> Option<Shot> + 'a>;

/// A source of requests of one client.
pub struct Load<'a> {
    /// Client.
    pub client: usize,
    /// Requests that are open at once (queued, offered or inside); `None`: one request is offered
    /// in every clock.
    pub limit: Option<usize>,
    /// Makes the next request; `None`: there are no more.
    pub next: Next<'a>,
}

impl<'a> Load<'a> {
    /// A load without an end.
    pub fn new(
        client: usize,
        limit: Option<usize>,
        mut next: impl FnMut(&mut Rng) -> Shot + 'a,
    ) -> Self {
        Self {
            client,
            limit,
            next: Box::new(move |rng| Some(next(rng))),
        }
    }
}

/// What one load did in a window.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Requests whose last beat was handed over in the window.
    pub requests: u64,
    /// Clocks from the acceptance of a request to its last beat, of each of them, sorted.
    pub latencies: Vec<u32>,
}

impl Done {
    /// The latency that `percent` of the requests do not pass.
    pub fn percentile(&self, percent: usize) -> u32 {
        let n = self.latencies.len();
        match n {
            0 => 0,
            _ => self.latencies[(n * percent).div_ceil(100).clamp(1, n) - 1],
        }
    }
}

/// What happened in a window of clocks.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Clocks.
    pub clocks: u64,
    /// Requests answered.
    pub requests: u64,
    /// Segments handed out.
    pub beats: u64,
    /// Reads of entries that the memory accepted.
    pub mpt_reads: u64,
    /// Reads of table lines that the memory accepted.
    pub mtt_reads: u64,
    /// Per load.
    pub loads: Vec<Done>,
}

impl Window {
    /// Requests per clock.
    pub fn rate(&self) -> f64 {
        self.requests as f64 / self.clocks as f64
    }

    /// Segments per clock.
    pub fn beats_per_clock(&self) -> f64 {
        self.beats as f64 / self.clocks as f64
    }

    /// Reads per request.
    pub fn reads_per_request(&self) -> f64 {
        (self.mpt_reads + self.mtt_reads) as f64 / self.requests.max(1) as f64
    }
}

/// The unit, its memory and its host.
pub struct Scene {
    /// Bench and host.
    pub rig: Rig,
    rng: Rng,
    table_size: u32,
    planted: u32,
}

/// A memory that answers after exactly `latency` clocks, in order, and is never busy.
fn memory(latency: u32) -> AxiConfig {
    AxiConfig {
        read_latency: Clocks::fixed(latency),
        write_latency: Clocks::fixed(latency),
        sample: Sample::Early,
        ..AxiConfig::default()
    }
}

impl Scene {
    /// The unit, enabled, with `table_size` entries and a memory of latency 1.
    pub fn new(config: Config, table_size: u32, seed: u64) -> Result<Self, BenchError> {
        Self::merging(config, table_size, seed, false)
    }

    /// The same, with or without merging of neighbouring pages.
    pub fn merging(
        config: Config,
        table_size: u32,
        seed: u64,
        merge: bool,
    ) -> Result<Self, BenchError> {
        let options = BenchOptions {
            config,
            seed,
            axi: memory(1),
            patience: 200_000,
            ..BenchOptions::default()
        };
        let unit = UnitConfig {
            mpt_size: table_size,
            merge,
            ..UnitConfig::default()
        };
        Ok(Self::over(Rig::new(options, &unit)?, seed, table_size))
    }

    /// A scene over a unit that is enabled, with `table_size` entries.
    pub fn over(rig: Rig, seed: u64, table_size: u32) -> Self {
        Self {
            rig,
            rng: Rng::new(seed),
            table_size,
            planted: 0,
        }
    }

    /// Changes the latency of the memory, reads and writes.
    pub fn latency(&mut self, clocks: u32) {
        self.rig.bench.axi.configure(memory(clocks));
    }

    /// Registers a region through the unit.
    pub fn register(&mut self, spec: Spec) -> Result<Mr, BenchError> {
        self.rig.register(spec)
    }

    /// Writes the entry of a region straight into the table of regions, from its end downwards:
    /// for more regions than anyone wants to wait for.
    pub fn plant(&mut self, spec: &Spec, table: &Table) -> Arc<Region> {
        self.planted += 1;
        let index = self.table_size - self.planted;
        let gen = 1;
        let level = table.level();
        let (lkey, rkey) = self.rig.bench.golden.keys().keys(index, gen, spec.access);
        let region = Region {
            index,
            gen,
            kind: Kind::Mr,
            pd: spec.pd,
            access: spec.access,
            start: spec.start,
            length: spec.length,
            log_page: spec.list.log_page(),
            level,
            log_tpage: if level == LEVEL_FLAT || level == LEVEL_INLINE {
                12
            } else {
                table.log_tpage()
            },
            encoding: Encoding::Raw,
            frame: table.frame(),
            lkey,
            rkey,
            pages: Arc::new(spec.list.clone()),
            ..Region::default()
        };
        let bytes: [u8; MPT_BYTES] = region.entry(State::Valid).encode();
        let at = self.rig.bench.entry_address(index);
        self.rig.host.mem.write(at, &bytes);
        Arc::new(region)
    }

    /// A read of a planted region by its owner.
    pub fn read_planted(region: &Arc<Region>, va: u64, len: u32) -> Shot {
        Shot {
            request: Request {
                op: Op::LocalRead.code(),
                key: region.lkey,
                va,
                len,
                pd: region.pd,
                qpn: 0x77,
                ..Request::default()
            },
            region: Some(Arc::clone(region)),
        }
    }

    /// Runs the loads: `warm` clocks uncounted, then `clocks` clocks counted, then lets everything
    /// finish.
    pub fn run(&mut self, loads: &mut [Load<'_>], warm: u64, clocks: u64) -> Result<Window> {
        let start = self.rig.bench.clock();
        self.measure(loads, |_, clock| {
            if clock < start + warm {
                Phase::Warm
            } else if clock < start + warm + clocks {
                Phase::Count
            } else {
                Phase::End
            }
        })
    }

    /// Runs loads that end by themselves after `total` requests. Counted is from the clock in which
    /// `warm` of them have been accepted to the clock in which the last one was.
    pub fn run_all(&mut self, loads: &mut [Load<'_>], warm: u64, total: u64) -> Result<Window> {
        self.measure(loads, |accepted, _| {
            if accepted < warm {
                Phase::Warm
            } else if accepted < total {
                Phase::Count
            } else {
                Phase::End
            }
        })
    }

    fn measure(
        &mut self,
        loads: &mut [Load<'_>],
        phase: impl Fn(u64, u64) -> Phase,
    ) -> Result<Window> {
        let (bench, mem) = (&mut self.rig.bench, &mut self.rig.host.mem);
        while bench.poll().is_some() {}
        let mut owners: Vec<u8> = Vec::new();
        let mut first_ticket = None;
        let mut open = vec![0usize; loads.len()];
        let mut window = Window {
            loads: vec![Done::default(); loads.len()],
            ..Window::default()
        };
        let accepted_before = bench.stats.requests;
        let mut begin: Option<(u64, u64, u64, u64)> = None;
        loop {
            let accepted = bench.stats.requests - accepted_before;
            let counting = match phase(accepted, bench.clock()) {
                Phase::Warm => false,
                Phase::Count => true,
                Phase::End => break,
            };
            if counting && begin.is_none() {
                let c = &bench.axi.counters;
                begin = Some((bench.clock(), bench.stats.segments, c.reads, c.mpt_reads));
            }
            for client in 0..bench.clients() {
                let inside = bench.requests_inside(client);
                let mut queued = loads
                    .iter()
                    .zip(&open)
                    .filter(|(load, _)| load.client == client)
                    .map(|(_, open)| open)
                    .sum::<usize>()
                    .saturating_sub(inside);
                for (n, load) in loads.iter_mut().enumerate() {
                    while load.client == client
                        && queued < AHEAD
                        && load.limit.map_or(true, |limit| open[n] < limit)
                    {
                        let Some(shot) = (load.next)(&mut self.rng) else {
                            break;
                        };
                        let issue = Issue {
                            region: shot.region,
                            ..Issue::default()
                        };
                        let ticket = bench.issue_with(client, shot.request, issue).0;
                        first_ticket.get_or_insert(ticket);
                        owners.push(n as u8);
                        open[n] += 1;
                        queued += 1;
                    }
                }
            }
            bench.step(mem)?;
            while let Some(outcome) = bench.poll() {
                let place = outcome.ticket.0 - first_ticket.unwrap_or(0);
                let owner = usize::from(owners[place as usize]);
                open[owner] -= 1;
                if counting {
                    let done = &mut window.loads[owner];
                    done.requests += 1;
                    done.latencies
                        .push((outcome.finished - outcome.accepted) as u32);
                }
            }
        }
        let Some((clock, beats, reads, mpt_reads)) = begin else {
            bail!("a window without clocks");
        };
        let counters = bench.axi.counters;
        window.clocks = bench.clock() - clock;
        window.beats = bench.stats.segments - beats;
        window.mpt_reads = counters.mpt_reads - mpt_reads;
        window.mtt_reads = counters.reads - reads - window.mpt_reads;
        window.requests = window.loads.iter().map(|done| done.requests).sum();
        for done in &mut window.loads {
            done.latencies.sort_unstable();
        }
        bench.drop_queued();
        bench.wait_idle(mem)?;
        while bench.poll().is_some() {}
        Ok(window)
    }

    /// Sends one request to the idle unit: clocks from its acceptance to its first beat, and to its
    /// last one.
    pub fn once(&mut self, shot: Shot) -> Result<(u64, u64)> {
        self.rig.run(64)?;
        let issue = Issue {
            region: shot.region,
            ..Issue::default()
        };
        let outcome = self
            .rig
            .bench
            .access_with(&mut self.rig.host.mem, 0, shot.request, issue)?;
        if outcome.syndrome != Syndrome::Ok {
            bail!("{:?} ended with {}", outcome.request, outcome.syndrome);
        }
        self.rig.wait_idle()?;
        Ok((
            outcome.first_beat - outcome.accepted,
            outcome.finished - outcome.accepted,
        ))
    }

    /// Counters of the unit, read when it is idle.
    pub fn counters(&mut self) -> Result<[u32; counter::COUNT], BenchError> {
        self.rig.bench.read_counters(&mut self.rig.host.mem)
    }

    /// Random numbers of the scene.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

enum Phase {
    Warm,
    Count,
    End,
}

/// A counter of the unit between two readings.
pub fn counted(before: &[u32], after: &[u32], n: usize) -> u64 {
    u64::from(after[n].wrapping_sub(before[n]))
}

/// A request by its owner on some stream.
pub fn read(mr: &Mr, va: u64, len: u32, stream: u8) -> Request {
    let mut request = mr.request(Op::LocalRead, va, len);
    request.stream = stream;
    request
}

// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Figures for people and machines.

use std::collections::BTreeMap;

use serde_json::{json, Map, Value};
use tpt_golden::types::{Command, Completion, Op, Status, Syndrome};

use crate::target::{
    Access1, Answer, Bind, Change, CommandPath, Counters, Damage, FastRegion, FastRegistration,
    Invalidator, MwType, Refused, Region, RegionId, Registration, Target, TargetError, Window,
    WindowId,
};
use crate::verbs::syndrome_name;

/// What was done, and how it ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operations {
    /// Registrations that succeeded.
    pub registered: u64,
    /// Deregistrations that succeeded.
    pub deregistered: u64,
    /// Windows that were allocated.
    pub windows: u64,
    /// Windows that were bound (or unbound by binding nothing).
    pub bound: u64,
    /// Fast registrations.
    pub fast_registered: u64,
    /// Registrations and bindings that were invalidated.
    pub invalidated: u64,
    /// Commands that were refused.
    pub commands_refused: u64,
    /// Bytes registered.
    pub registered_bytes: u64,
    /// Entries of all tables.
    pub entries: u64,
    /// Bytes of all tables.
    pub table_bytes: u64,
    /// Requests by operation.
    pub by_op: BTreeMap<&'static str, u64>,
    /// Refused requests by syndrome.
    pub by_syndrome: BTreeMap<u8, u64>,
    /// Accepted requests.
    pub accepted: u64,
    /// Refused requests.
    pub refused: u64,
    /// Segments handed out.
    pub segments: u64,
    /// Bytes of accepted requests.
    pub bytes: u64,
    /// Work of the unit; `None` without hardware.
    pub work: Option<Counters>,
    /// Clocks of the whole run; `None` without hardware.
    pub clocks: Option<u64>,
    /// How commands went to the unit; `None` without hardware.
    pub commands: Option<CommandPath>,
}

/// Name of an operation.
pub fn op_name(op: u8) -> &'static str {
    match Op::from_code(op) {
        Some(Op::LocalRead) => "local read",
        Some(Op::LocalWrite) => "local write",
        Some(Op::RemoteRead) => "remote read",
        Some(Op::RemoteWrite) => "remote write",
        Some(Op::RemoteAtomic) => "remote atomic",
        Some(Op::FlushGlobal) => "flush, global",
        Some(Op::FlushPersist) => "flush, persistent",
        Some(Op::FlushBoth) => "flush, both",
        None => "unknown operation",
    }
}

impl Operations {
    /// Requests.
    pub fn requests(&self) -> u64 {
        self.accepted + self.refused
    }

    /// Counts one request.
    pub fn count(&mut self, access: &Access1, answer: &Answer) {
        *self.by_op.entry(op_name(access.request.op)).or_default() += 1;
        self.segments += answer.segments.len() as u64;
        if answer.syndrome == Syndrome::Ok {
            self.accepted += 1;
            self.bytes += u64::from(access.request.len);
        } else {
            self.refused += 1;
            *self.by_syndrome.entry(answer.syndrome.code()).or_default() += 1;
        }
    }

    /// Adds those of another run.
    pub fn add(&mut self, o: &Operations) {
        self.registered += o.registered;
        self.deregistered += o.deregistered;
        self.windows += o.windows;
        self.bound += o.bound;
        self.fast_registered += o.fast_registered;
        self.invalidated += o.invalidated;
        self.commands_refused += o.commands_refused;
        self.registered_bytes = self.registered_bytes.saturating_add(o.registered_bytes);
        self.entries += o.entries;
        self.table_bytes += o.table_bytes;
        for (op, n) in &o.by_op {
            *self.by_op.entry(op).or_default() += n;
        }
        for (code, n) in &o.by_syndrome {
            *self.by_syndrome.entry(*code).or_default() += n;
        }
        self.accepted += o.accepted;
        self.refused += o.refused;
        self.segments += o.segments;
        self.bytes += o.bytes;
        if let Some(w) = o.work {
            self.work = Some(self.work.unwrap_or_default() + w);
        }
        if let Some(c) = o.clocks {
            self.clocks = Some(self.clocks.unwrap_or(0) + c);
        }
        if let Some(path) = &o.commands {
            self.commands
                .get_or_insert_with(CommandPath::default)
                .add(path);
        }
    }

    /// In words.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if let Some(path) = &self.commands {
            out += &format!("commands: {path}\n");
        }
        let mut line = |name: &str, value: String| out += &format!("{name:<28} {value:>16}\n");
        line("regions registered", self.registered.to_string());
        line("regions deregistered", self.deregistered.to_string());
        for (name, n) in [
            ("windows allocated", self.windows),
            ("windows bound", self.bound),
            ("fast registrations", self.fast_registered),
            ("invalidations", self.invalidated),
        ] {
            if n > 0 {
                line(name, n.to_string());
            }
        }
        if self.commands_refused > 0 {
            line("commands refused", self.commands_refused.to_string());
        }
        line("bytes registered", self.registered_bytes.to_string());
        line("table entries", self.entries.to_string());
        line("table bytes", self.table_bytes.to_string());
        line("requests", self.requests().to_string());
        for (op, n) in &self.by_op {
            line(&format!("  {op}"), n.to_string());
        }
        line("accepted", self.accepted.to_string());
        line("  segments", self.segments.to_string());
        line("  bytes", self.bytes.to_string());
        line("refused", self.refused.to_string());
        for (code, n) in &self.by_syndrome {
            let name = Syndrome::from_code(*code).map_or("?".into(), syndrome_name);
            line(&format!("  {name}"), n.to_string());
        }
        if let Some(clocks) = self.clocks {
            line("clocks", clocks.to_string());
        }
        if let Some(w) = &self.work {
            let reads = w.mpt_reads + w.mtt_reads;
            line("clocks per request", ratio(w.clocks, self.requests()));
            line("clocks per segment", ratio(w.clocks, self.segments));
            line("MPT cache hits", rate(w.mpt_hits, w.mpt_misses));
            line("MTT cache hits", rate(w.mtt_hits, w.mtt_misses));
            line("memory reads per request", ratio(reads, self.requests()));
        }
        out
    }

    /// For machines.
    pub fn json(&self) -> Map<String, Value> {
        let value = json!({
            "registered": self.registered,
            "deregistered": self.deregistered,
            "windows": self.windows,
            "bound": self.bound,
            "fast_registered": self.fast_registered,
            "invalidated": self.invalidated,
            "commands_refused": self.commands_refused,
            "registered_bytes": self.registered_bytes,
            "entries": self.entries,
            "table_bytes": self.table_bytes,
            "requests": self.requests(),
            "by_operation": self.by_op,
            "accepted": self.accepted,
            "segments": self.segments,
            "bytes": self.bytes,
            "refused": self.refused,
            "by_syndrome": self.by_syndrome.iter().map(|(code, n)| {
                (Syndrome::from_code(*code).map_or("?".into(), syndrome_name), json!(n))
            }).collect::<Map<_, _>>(),
            "clocks": self.clocks,
            "commands": self.commands.map(|path| path.json()),
            "unit": self.work.map(|w| counters(&w)),
        });
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

/// A quotient with three digits; `-` if there is nothing to divide by.
pub fn ratio(a: u64, b: u64) -> String {
    if b == 0 {
        "-".into()
    } else {
        format!("{:.3}", a as f64 / b as f64)
    }
}

/// A hit rate.
pub fn rate(hits: u64, misses: u64) -> String {
    if hits + misses == 0 {
        "-".into()
    } else {
        format!("{:.2} %", 100.0 * hits as f64 / (hits + misses) as f64)
    }
}

/// Counters of the unit, for machines.
pub fn counters(c: &Counters) -> Value {
    json!({
        "clocks": c.clocks,
        "requests": c.requests,
        "mpt_hits": c.mpt_hits,
        "mpt_misses": c.mpt_misses,
        "mpt_reads": c.mpt_reads,
        "mtt_hits": c.mtt_hits,
        "mtt_misses": c.mtt_misses,
        "mtt_reads": c.mtt_reads,
        "beats": c.beats,
    })
}

/// A target that counts what goes through it.
pub struct Counted<'a> {
    inner: &'a mut dyn Target,
    /// What went through so far; `work` and `clocks` are filled in by [`Counted::finish`].
    pub operations: Operations,
}

impl<'a> Counted<'a> {
    /// Counts what goes to `inner`.
    pub fn new(inner: &'a mut dyn Target) -> Self {
        Self {
            inner,
            operations: Operations::default(),
        }
    }

    /// The figures, with those of the unit itself.
    pub fn finish(mut self) -> Result<Operations, TargetError> {
        self.operations.work = self.inner.counters()?;
        self.operations.clocks = self.inner.clock();
        self.operations.commands = self.inner.commands();
        Ok(self.operations)
    }
}

impl Target for Counted<'_> {
    fn register(&mut self, args: &Registration) -> Result<Result<Region, Refused>, TargetError> {
        let made = self.inner.register(args)?;
        let o = &mut self.operations;
        match &made {
            Ok(region) => {
                o.registered += 1;
                o.registered_bytes = o.registered_bytes.saturating_add(args.length);
                o.entries += region.entries;
                o.table_bytes += region.table_bytes;
            }
            Err(_) => o.commands_refused += 1,
        }
        Ok(made)
    }

    fn reregister(
        &mut self,
        id: RegionId,
        change: &Change,
    ) -> Result<Result<Region, Refused>, TargetError> {
        let made = self.inner.reregister(id, change)?;
        if made.is_err() {
            self.operations.commands_refused += 1;
        }
        Ok(made)
    }

    fn allocate_region(
        &mut self,
        args: &FastRegion,
    ) -> Result<Result<Region, Refused>, TargetError> {
        let made = self.inner.allocate_region(args)?;
        match &made {
            Ok(region) => {
                self.operations.registered += 1;
                self.operations.table_bytes += region.table_bytes;
            }
            Err(_) => self.operations.commands_refused += 1,
        }
        Ok(made)
    }

    fn fast_register(
        &mut self,
        id: RegionId,
        args: &FastRegistration,
    ) -> Result<Result<Region, Refused>, TargetError> {
        let made = self.inner.fast_register(id, args)?;
        let o = &mut self.operations;
        match &made {
            Ok(_) => {
                o.fast_registered += 1;
                o.registered_bytes = o.registered_bytes.saturating_add(args.length);
            }
            Err(_) => o.commands_refused += 1,
        }
        Ok(made)
    }

    fn invalidate_region(
        &mut self,
        id: RegionId,
        by: Invalidator,
    ) -> Result<Result<(), Refused>, TargetError> {
        let ended = self.inner.invalidate_region(id, by)?;
        match ended {
            Ok(()) => self.operations.invalidated += 1,
            Err(_) => self.operations.commands_refused += 1,
        }
        Ok(ended)
    }

    fn allocate_window(
        &mut self,
        pd: u32,
        kind: MwType,
    ) -> Result<Result<Window, Refused>, TargetError> {
        let made = self.inner.allocate_window(pd, kind)?;
        match made {
            Ok(_) => self.operations.windows += 1,
            Err(_) => self.operations.commands_refused += 1,
        }
        Ok(made)
    }

    fn bind_window(
        &mut self,
        id: WindowId,
        bind: &Bind,
    ) -> Result<Result<Window, Refused>, TargetError> {
        let made = self.inner.bind_window(id, bind)?;
        match made {
            Ok(_) => self.operations.bound += 1,
            Err(_) => self.operations.commands_refused += 1,
        }
        Ok(made)
    }

    fn invalidate_window(
        &mut self,
        id: WindowId,
        by: Invalidator,
    ) -> Result<Result<(), Refused>, TargetError> {
        let ended = self.inner.invalidate_window(id, by)?;
        match ended {
            Ok(()) => self.operations.invalidated += 1,
            Err(_) => self.operations.commands_refused += 1,
        }
        Ok(ended)
    }

    fn free_window(&mut self, id: WindowId) -> Result<Status, TargetError> {
        let status = self.inner.free_window(id)?;
        if status != Status::Ok {
            self.operations.commands_refused += 1;
        }
        Ok(status)
    }

    fn deregister(&mut self, id: RegionId) -> Result<Status, TargetError> {
        let status = self.inner.deregister(id)?;
        if status == Status::Ok {
            self.operations.deregistered += 1;
        } else {
            self.operations.commands_refused += 1;
        }
        Ok(status)
    }

    fn refused_command(&mut self, command: &Command) -> Result<Completion, TargetError> {
        self.operations.commands_refused += 1;
        self.inner.refused_command(command)
    }

    fn access(&mut self, batch: &[Access1]) -> Result<Vec<Answer>, TargetError> {
        let answers = self.inner.access(batch)?;
        for (access, answer) in batch.iter().zip(&answers) {
            self.operations.count(access, answer);
        }
        Ok(answers)
    }

    fn access_while(
        &mut self,
        batch: &[Access1],
        deregister: &[(usize, RegionId)],
    ) -> Result<Vec<Answer>, TargetError> {
        let answers = self.inner.access_while(batch, deregister)?;
        for (access, answer) in batch.iter().zip(&answers) {
            self.operations.count(access, answer);
        }
        self.operations.deregistered += deregister.len() as u64;
        Ok(answers)
    }

    fn damage(&mut self, id: RegionId, what: Damage, on: bool) -> Result<(), TargetError> {
        self.inner.damage(id, what, on)
    }

    fn access_disabled(&mut self, access: &Access1) -> Result<Answer, TargetError> {
        let answer = self.inner.access_disabled(access)?;
        self.operations.count(access, &answer);
        Ok(answer)
    }

    fn enable(&mut self) -> Result<(), TargetError> {
        self.inner.enable()
    }

    fn access_tag_busy(&mut self, access: &Access1) -> Result<Answer, TargetError> {
        let answer = self.inner.access_tag_busy(access)?;
        self.operations.count(access, &answer);
        Ok(answer)
    }

    fn counters(&mut self) -> Result<Option<Counters>, TargetError> {
        self.inner.counters()
    }

    fn commands(&self) -> Option<CommandPath> {
        self.inner.commands()
    }

    fn clock(&self) -> Option<u64> {
        self.inner.clock()
    }
}

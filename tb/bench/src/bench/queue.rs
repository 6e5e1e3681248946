// SPDX-License-Identifier: Apache-2.0
//! The host's side of the command queue and the completion queue.
//!
//! Completions are taken as soon as their phase fits, in every clock; slots are given back, and
//! commands announced, with [`Bench::queue_ring`].

use tpt_golden::queue::{self, Slot, SLOT_BYTES};

use super::*;

/// Where the queues are, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Physical address of the command queue, on 4 KiB.
    pub cmdq_base: u64,
    /// log2 of its slots.
    pub cmdq_log: u8,
    /// Physical address of the completion queue, on 4 KiB.
    pub cplq_base: u64,
    /// log2 of its slots.
    pub cplq_log: u8,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            cmdq_base: 0xa000_0000,
            cmdq_log: 4,
            cplq_base: 0xb000_1000,
            cplq_log: 5,
        }
    }
}

impl QueueConfig {
    /// Memory of the command queue.
    pub fn cmdq_range(&self) -> Range<u64> {
        self.cmdq_base..self.cmdq_base + (SLOT_BYTES as u64) * (1 << self.cmdq_log)
    }

    /// Memory of the completion queue.
    pub fn cplq_range(&self) -> Range<u64> {
        self.cplq_base..self.cplq_base + (SLOT_BYTES as u64) * (1 << self.cplq_log)
    }

    /// Address of a slot of the command queue.
    pub fn command_slot(&self, slot: u16) -> u64 {
        self.cmdq_base + SLOT_BYTES as u64 * u64::from(slot)
    }

    /// Address of a slot of the completion queue.
    pub fn completion_slot(&self, slot: u16) -> u64 {
        self.cplq_base + SLOT_BYTES as u64 * u64::from(slot)
    }
}

/// What the host knows of its queues.
pub(super) struct HostQueue {
    config: QueueConfig,
    /// Slots as the host has written them, and what goes with them.
    slots: Vec<Option<(Slot, Posted)>>,
    tail: u16,
    rung_tail: u16,
    /// Commands that the unit has taken since the start: as far as is known, and as far as
    /// completions have said it at least.
    head: u64,
    said: u64,
    /// Slots that the unit has read since the start.
    read: u64,
    /// Slot that the unit reads next.
    next: u16,
    /// A read of a slot: its AXI ID, and whether a beat was an error.
    reading: Option<(u16, bool)>,
    taken: u16,
    phase: bool,
    rung_head: u16,
    /// Slots that the unit must refuse: id, operation code, status.
    refused: Vec<(u16, u8, Status)>,
    /// Completions so far.
    count: u64,
    /// Disabled, but not at rest yet.
    leaving: bool,
}

impl HostQueue {
    pub(super) fn new(config: QueueConfig) -> Self {
        Self {
            config,
            slots: (0..1u32 << config.cmdq_log).map(|_| None).collect(),
            tail: 0,
            rung_tail: 0,
            head: 0,
            said: 0,
            read: 0,
            next: 0,
            reading: None,
            taken: 0,
            phase: true,
            rung_head: 0,
            refused: Vec::new(),
            count: 0,
            leaving: false,
        }
    }

    /// A host of its own has written slots up to `tail`: what they hold, and what goes with them.
    pub(super) fn announce(
        &mut self,
        mem: &PhysMem,
        tail: u16,
        extras: &mut VecDeque<CommandExtra>,
    ) {
        let mask = Self::mask(self.config.cmdq_log);
        while self.tail != tail & mask {
            let mut slot: Slot = [0; SLOT_BYTES];
            mem.read(self.config.command_slot(self.tail), &mut slot);
            let refused = || Command {
                id: queue::get(queue::CMD_FIELDS, &slot, "id", 0) as u16,
                op: slot[2],
                ..Command::default()
            };
            let command = queue::decode(&slot).unwrap_or_else(|_| refused());
            let mut posted = Posted::new(command, extras.pop_front().unwrap_or_default());
            posted.source = Source::Queue;
            self.slots[usize::from(self.tail)] = Some((slot, posted));
            self.tail = self.tail.wrapping_add(1) & mask;
        }
        self.rung_tail = self.tail;
    }

    pub(super) fn leave(&mut self) {
        self.leaving = true;
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving
    }

    fn mask(log: u8) -> u16 {
        ((1u32 << log) - 1) as u16
    }

    pub(super) fn refused_pending(&self) -> usize {
        self.refused.len() + self.unread()
    }

    /// Slots that are written and not read by the unit yet.
    fn unread(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    pub(super) fn uses_id(&self, id: u16) -> bool {
        self.refused.iter().any(|(other, _, _)| *other == id)
            || self
                .slots
                .iter()
                .flatten()
                .any(|(_, posted)| posted.command.id == id)
    }
}

impl Bench {
    /// Is a PAGE_READY of this slot in the queue, and not read yet?
    pub(super) fn queue_answers(&self, slot: u32) -> bool {
        let slots = self
            .queue
            .iter()
            .flat_map(|queue| queue.slots.iter().flatten());
        slots
            .map(|(_, posted)| &posted.command)
            .any(|command| command.op == CmdOp::PageReady.code() && command.key.0 == slot)
    }

    /// Empties the queues' memory, sets them up and enables them.
    pub fn queue_enable(
        &mut self,
        mem: &mut PhysMem,
        config: QueueConfig,
    ) -> Result<(), BenchError> {
        for range in [config.cmdq_range(), config.cplq_range()] {
            let zeros = vec![0; (range.end - range.start) as usize];
            mem.write(range.start, &zeros);
        }
        self.write_register(mem, regs::CMDQ_BASE_LO, config.cmdq_base as u32)?;
        self.write_register(mem, regs::CMDQ_BASE_HI, (config.cmdq_base >> 32) as u32)?;
        self.write_register(mem, regs::CMDQ_LOG_SIZE, config.cmdq_log.into())?;
        self.write_register(mem, regs::CPLQ_BASE_LO, config.cplq_base as u32)?;
        self.write_register(mem, regs::CPLQ_BASE_HI, (config.cplq_base >> 32) as u32)?;
        self.write_register(mem, regs::CPLQ_LOG_SIZE, config.cplq_log.into())?;
        self.axi
            .set_queues(config.cmdq_range(), config.cplq_range());
        self.queue = Some(HostQueue::new(config));
        self.write_register(mem, regs::QUEUE_CTRL, regs::queue_ctrl::ENABLE)
    }

    /// Disables the queues and waits until they are off. Commands in work lose their completions.
    pub fn queue_disable(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        self.write_register(mem, regs::QUEUE_CTRL, 0)?;
        let end = self.clock + self.options.patience;
        let on = regs::queue_status::ENABLED | regs::queue_status::BUSY;
        while self.read_register(mem, regs::QUEUE_STATUS)? & on != 0 {
            if self.clock > end {
                return self.timeout("the queues to be off");
            }
        }
        self.queue = None;
        self.posted.retain(|posted| posted.source == Source::Direct);
        self.axi.set_queues(0..0, 0..0);
        Ok(())
    }

    /// Where the queues are.
    pub fn queue_config(&self) -> Option<QueueConfig> {
        self.queue.as_ref().map(|queue| queue.config)
    }

    /// Completions that came through the queue since it was enabled.
    pub fn queue_count(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.count)
    }

    /// Writes a command into the next slot; false if there is no room, as far as is known.
    pub fn queue_post(&mut self, mem: &mut PhysMem, command: Command, extra: CommandExtra) -> bool {
        self.queue_post_slot(mem, queue::encode(&command), command, extra)
    }

    /// Writes a slot; `command` is what it would be if the unit does not refuse it.
    pub fn queue_post_slot(
        &mut self,
        mem: &mut PhysMem,
        slot: Slot,
        command: Command,
        extra: CommandExtra,
    ) -> bool {
        let Some(queue) = &mut self.queue else {
            return false;
        };
        let next = (queue.tail + 1) & HostQueue::mask(queue.config.cmdq_log);
        let mask = HostQueue::mask(queue.config.cmdq_log);
        if next == queue.head as u16 & mask {
            return false;
        }
        mem.write(queue.config.command_slot(queue.tail), &slot);
        let mut posted = Posted::new(command, extra);
        posted.source = Source::Queue;
        queue.slots[usize::from(queue.tail)] = Some((slot, posted));
        queue.tail = next;
        true
    }

    /// Rings the doorbells that have something new.
    pub fn queue_ring(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        self.queue_announce(mem)?;
        self.queue_give_back(mem)
    }

    /// Announces the commands that have been posted.
    pub fn queue_announce(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        if let Some(queue) = self.queue.as_mut().filter(|q| q.rung_tail != q.tail) {
            queue.rung_tail = queue.tail;
            let tail = queue.tail.into();
            self.write_register(mem, regs::CMDQ_TAIL, tail)?;
        }
        Ok(())
    }

    /// Gives the slots of taken completions back.
    pub fn queue_give_back(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        if let Some(queue) = self.queue.as_mut().filter(|q| q.rung_head != q.taken) {
            queue.rung_head = queue.taken;
            let head = queue.taken.into();
            self.write_register(mem, regs::CPLQ_HEAD, head)?;
        }
        Ok(())
    }

    /// Posts a command through the queue, rings, and waits for its next completion.
    pub fn queue_command(
        &mut self,
        mem: &mut PhysMem,
        command: Command,
        extra: CommandExtra,
    ) -> Result<Completion, BenchError> {
        self.queue_refresh(mem)?;
        if !self.queue_post(mem, command, extra) {
            return self
                .timeout("room in the command queue")
                .map(|()| unreachable!());
        }
        self.queue_ring(mem)?;
        let completion = self.wait_completion(mem, command.id)?;
        self.queue_give_back(mem)?;
        Ok(completion)
    }

    /// Takes and gives back completions until every slot has its last one.
    pub fn queue_finish(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        self.progress = self.clock;
        while self.queue_pending() > 0 {
            if self.clocks_without_progress() > self.options.patience {
                return self.timeout("the completions of the queue");
            }
            self.queue_ring(mem)?;
            self.step(mem)?;
        }
        self.queue_ring(mem)
    }

    /// Clocks since something was accepted or answered.
    pub fn clocks_without_progress(&self) -> u64 {
        self.clock - self.progress
    }

    /// Slots without their last completion.
    pub fn queue_pending(&self) -> usize {
        let posted = self.posted.iter();
        let posted = posted
            .filter(|posted| posted.source == Source::Queue)
            .count();
        posted + self.queue.as_ref().map_or(0, HostQueue::refused_pending)
    }

    /// Asks the register for the head of the command queue: room for more commands.
    pub fn queue_refresh(&mut self, mem: &mut PhysMem) -> Result<u16, BenchError> {
        let head = self.read_register(mem, regs::CMDQ_HEAD)? as u16;
        if let Some(queue) = &mut self.queue {
            // One slot at most has been read and is not taken yet.
            let mask = u64::from(HostQueue::mask(queue.config.cmdq_log));
            let behind = queue.read.wrapping_sub(head.into()) & mask;
            if behind > 1 {
                let text = format!("CMDQ_HEAD is {head} after {} reads", queue.read);
                return self.mismatch(text).map(|()| head);
            }
            queue.head = queue.read - behind;
        }
        Ok(head)
    }

    /// What happened in this clock, for the queue.
    pub(super) fn observe_queue(&mut self, mem: &mut PhysMem, now: u64) -> Result<(), BenchError> {
        self.observe_slot_read(now)?;
        let Some(queue) = &mut self.queue else {
            return Ok(());
        };
        let mut slot: Slot = [0; SLOT_BYTES];
        mem.read(queue.config.completion_slot(queue.taken), &mut slot);
        if !queue::is_ready(&slot, queue.phase) {
            return Ok(());
        }
        queue.taken = (queue.taken + 1) & HostQueue::mask(queue.config.cplq_log);
        queue.phase ^= queue.taken == 0;
        queue.count += 1;
        self.progress = now;
        let found = match queue::decode_completion(&slot) {
            Ok(found) => found,
            Err(text) => return self.mismatch(text),
        };
        // The head moves forward, not beyond what the unit has read.
        let mask = u64::from(HostQueue::mask(queue.config.cmdq_log));
        queue.said += u64::from(found.cmdq_head).wrapping_sub(queue.said) & mask;
        queue.head = queue.head.max(queue.said);
        if u64::from(found.cmdq_head) > mask || queue.said > queue.read {
            let text = format!(
                "completion says head {}, but {} slots were read",
                found.cmdq_head, queue.read
            );
            return self.mismatch(text);
        }
        let refused = queue.refused.iter().position(|(id, op, status)| {
            (*id, *op, *status) == (found.completion.id, found.op, found.completion.status)
        });
        if let Some(place) = refused {
            queue.refused.remove(place);
            let completion = found.completion;
            self.stats.by_status[usize::from(completion.status.code())] += 1;
            if Completion::plain(completion.id, completion.op, completion.status) != completion {
                return self.mismatch(format!("a refused slot has content: {completion:?}"));
            }
            self.finished.push_back(Finished {
                completion,
                command: None,
                accepted: now,
                clock: now,
            });
            return Ok(());
        }
        self.completion(mem, found.completion, Source::Queue, now)
    }

    /// A command begins, for the reference, when its slot has been read.
    fn observe_slot_read(&mut self, now: u64) -> Result<(), BenchError> {
        let port = &self.outputs.axi;
        let input = &self.inputs.axi;
        let Some(queue) = &mut self.queue else {
            return Ok(());
        };
        let range = queue.config.cmdq_range();
        if port.arvalid && input.arready && range.contains(&port.araddr) {
            let place = queue.config.command_slot(queue.next);
            if port.araddr != place || queue.reading.is_some() || queue.next == queue.rung_tail {
                let text = format!(
                    "read of command slot at {:#x}, want {place:#x}",
                    port.araddr
                );
                return self.protocol(&text);
            }
            queue.reading = Some((port.arid, false));
            return Ok(());
        }
        let Some((id, error)) = queue.reading else {
            return Ok(());
        };
        if !(input.rvalid && port.rready && input.rid == id) {
            return Ok(());
        }
        let error = error || input.rresp != 0;
        queue.reading = Some((id, error));
        if !input.rlast {
            return Ok(());
        }
        queue.reading = None;
        if error {
            return Ok(());
        }
        let Some((slot, mut posted)) = queue.slots[usize::from(queue.next)].take() else {
            return self.protocol("a slot was read that holds no command");
        };
        queue.read += 1;
        queue.next = (queue.next + 1) & HostQueue::mask(queue.config.cmdq_log);
        match queue::decode(&slot) {
            Err(status) => {
                let op = slot[2];
                queue.refused.push((posted.command.id, op, status));
            }
            Ok(command) => {
                posted.command = command;
                posted.accepted = now;
                let pages = posted.extra.pages.clone();
                let expected = self.golden.begin(&posted.command, pages, now);
                posted.no_index = expected.status == Status::NoIndex;
                self.fault_answered(&posted.command, expected.status == Status::Ok);
                self.posted.push(posted);
            }
        }
        Ok(())
    }
}

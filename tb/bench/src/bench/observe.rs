// SPDX-License-Identifier: Apache-2.0
//! A host of its own: a driver that writes registers and memory itself. The bench looks on, and
//! learns from the registers what the reference has to know.

use super::*;

impl Bench {
    /// What goes with the commands that the host will announce next, in order. A command without it
    /// has no pages and releases nothing.
    pub fn expect_extra(&mut self, extra: CommandExtra) {
        self.expected_extras.push_back(extra);
    }

    fn written_pair(&self, low: u16) -> u64 {
        let word = |offset| u64::from(self.written.get(&offset).copied().unwrap_or(0));
        word(low) | word(low + 4) << 32
    }

    /// The settings that the host has written.
    fn written_unit(&self, control: u32) -> UnitConfig {
        let word = |offset: u16| self.written.get(&offset).copied().unwrap_or(0);
        let secret = |first: u16| std::array::from_fn(|n| word(first + 4 * n as u16));
        UnitConfig {
            mpt_base: self.written_pair(regs::MPT_BASE_LO),
            mpt_size: word(regs::MPT_SIZE),
            perm_secret: secret(regs::PERM_SECRET),
            tag_secret: secret(regs::TAG_SECRET),
            plain: control & regs::ctrl::PLAIN != 0,
            merge: control & regs::ctrl::MERGE != 0,
            phys: control & regs::ctrl::PHYS != 0,
            fence_time: self.unit.fence_time,
            host_windows: self.unit.host_windows.clone(),
            tenants: self.unit.tenants,
            refusal_time: self.unit.refusal_time,
            alarm: self.unit.alarm,
        }
    }

    fn written_queues(&self) -> QueueConfig {
        let log = |offset| self.written.get(&offset).copied().unwrap_or(0).min(16) as u8;
        QueueConfig {
            cmdq_base: self.written_pair(regs::CMDQ_BASE_LO),
            cmdq_log: log(regs::CMDQ_LOG_SIZE),
            cplq_base: self.written_pair(regs::CPLQ_BASE_LO),
            cplq_log: log(regs::CPLQ_LOG_SIZE),
        }
    }

    /// Reads a register as a host that uses no other call of the bench for it.
    pub fn host_read(&mut self, mem: &mut PhysMem, address: u16) -> Result<u32, BenchError> {
        let value = self.read_register(mem, address)?;
        match address {
            regs::STATUS if value & regs::status::READY != 0 && !self.golden.is_ready() => {
                self.golden.ready(self.clock);
            }
            regs::QUEUE_STATUS if self.queue.as_ref().is_some_and(|queue| queue.is_leaving()) => {
                let on = regs::queue_status::ENABLED | regs::queue_status::BUSY;
                if value & on == 0 {
                    self.queue = None;
                    self.posted.retain(|posted| posted.source == Source::Direct);
                    self.axi.set_queues(0..0, 0..0);
                }
            }
            _ => self.fault_read(address, value),
        }
        Ok(value)
    }

    /// Writes a register as a host that uses no other call of the bench for it: the reference follows
    /// what is written. Slots of the command queue must be in memory before their doorbell.
    pub fn host_write(
        &mut self,
        mem: &mut PhysMem,
        address: u16,
        value: u32,
    ) -> Result<(), BenchError> {
        self.progress = self.clock;
        match address {
            regs::CTRL => return self.host_control(mem, value),
            regs::QUEUE_CTRL => return self.host_queue_control(mem, value),
            regs::CMDQ_TAIL => {
                let extras = &mut self.expected_extras;
                if let Some(queue) = &mut self.queue {
                    queue.announce(mem, value as u16, extras);
                }
            }
            regs::FENCE_TIME => return self.set_fence_time(mem, value),
            _ => {}
        }
        self.write_register(mem, address, value)?;
        self.written.insert(address, value);
        match address {
            regs::FAULT_POP if value & regs::fault_pop::POP != 0 => self.fault_popped(),
            _ => Ok(()),
        }
    }

    fn host_control(&mut self, mem: &mut PhysMem, value: u32) -> Result<(), BenchError> {
        if value & regs::ctrl::ENABLE == 0 {
            let disabling = self.golden.is_ready();
            if disabling {
                self.golden.disabling(self.clock);
            }
            self.write_register(mem, regs::CTRL, value)?;
            self.last_death = self.clock;
            self.golden.disabled(self.clock);
            return Ok(());
        }
        if !self.golden.is_ready() {
            let unit = self.written_unit(value);
            self.golden.configure(unit.keys(), unit.mpt_size);
            self.golden.allow_phys(unit.phys);
            self.axi.set_mpt(unit.mpt_range());
            self.unit = unit;
            self.golden.enable(self.clock);
        }
        self.write_register(mem, regs::CTRL, value)
    }

    fn host_queue_control(&mut self, mem: &mut PhysMem, value: u32) -> Result<(), BenchError> {
        let enable = value & regs::queue_ctrl::ENABLE != 0;
        if enable && self.queue.is_none() {
            let config = self.written_queues();
            self.axi
                .set_queues(config.cmdq_range(), config.cplq_range());
            self.queue = Some(queue::HostQueue::new(config));
        }
        let done = self.write_register(mem, regs::QUEUE_CTRL, value);
        if let Some(queue) = self.queue.as_mut().filter(|_| !enable) {
            queue.leave();
        }
        done
    }
}

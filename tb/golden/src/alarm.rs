// SPDX-License-Identifier: Apache-2.0
//! Alarm of bad keys: what each stream and each slot of PDs has counted, and what a blocked stream
//! answers.
//!
//! A bad key is a request that was refused with KEY_INDEX, KEY_STATE, KEY_TAG, PD or QP. The unit
//! counts it before its answer leaves, so a request that comes after the answer that reached the
//! threshold is blocked for certain; one that was inside by then may be.
//!
//! ```
//! use tpt_golden::alarm::{Alarm, AlarmConfig, Expect};
//! use tpt_golden::types::Syndrome;
//!
//! let mut alarm = Alarm::new();
//! alarm.configure(AlarmConfig { stream_threshold: 1, block: true, ..Default::default() });
//! assert_eq!(alarm.expect(0, 3, 10), Expect::Served);
//! alarm.answered(0, 3, 7, Syndrome::KeyTag, 30);
//! assert_eq!(alarm.expect(0, 3, 20), Expect::Either);
//! assert_eq!(alarm.expect(0, 3, 31), Expect::Blocked);
//! assert_eq!(alarm.expect(0, 4, 31), Expect::Served);
//! ```

use std::collections::HashMap;

use crate::types::Syndrome;

/// Slots of PDs of the smallest unit: the PDs that are equal modulo their number share one.
pub const PD_SLOTS: u32 = 16;
/// Where counts stay.
pub const MOST: u32 = 255;

/// Settings of the alarm (register ALARM).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlarmConfig {
    /// Bad keys of a stream that raise the alarm; 0: none do.
    pub stream_threshold: u8,
    /// Bad keys of a slot of PDs that raise the alarm; 0: none do.
    pub pd_threshold: u8,
    /// A stream that reaches its threshold is blocked.
    pub block: bool,
}

/// What a request may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Not BLOCKED.
    Served,
    /// BLOCKED.
    Blocked,
    /// BLOCKED or not: the threshold was reached while it was inside.
    Either,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// Bad keys since the count was cleared.
    count: u32,
    /// Latest answer before the stream was blocked, if it is.
    blocked: Option<u64>,
    /// Requests were lost, or the count was cleared while some were inside.
    unsure: bool,
}

/// The counts of a unit.
#[derive(Clone, Debug)]
pub struct Alarm {
    config: AlarmConfig,
    /// Slots of PDs.
    pd_slots: u32,
    streams: HashMap<(usize, u8), Stream>,
    slots: HashMap<u32, (u32, u32)>,
    /// Requests were lost: the slots may have counted them.
    slots_unsure: bool,
    raised: bool,
}

/// True of a refusal that is counted.
pub const fn is_bad_key(syndrome: Syndrome) -> bool {
    matches!(
        syndrome,
        Syndrome::KeyIndex | Syndrome::KeyState | Syndrome::KeyTag | Syndrome::Pd | Syndrome::Qp
    )
}

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm::new()
    }
}

impl Alarm {
    /// After reset: nothing is counted, no threshold. With [`PD_SLOTS`] slots of PDs.
    pub fn new() -> Alarm {
        Alarm::with_slots(PD_SLOTS)
    }

    /// The same with this many slots of PDs, at least one.
    pub fn with_slots(pd_slots: u32) -> Alarm {
        Alarm {
            config: AlarmConfig::default(),
            pd_slots: pd_slots.max(1),
            streams: HashMap::new(),
            slots: HashMap::new(),
            slots_unsure: false,
            raised: false,
        }
    }

    /// Slots of PDs.
    pub fn pd_slots(&self) -> u32 {
        self.pd_slots
    }

    /// The slot of a PD.
    pub fn slot_of(&self, pd: u32) -> u32 {
        pd % self.pd_slots
    }

    /// Changes the settings. What is blocked stays so.
    pub fn configure(&mut self, config: AlarmConfig) {
        self.config = config;
    }

    /// The settings.
    pub fn config(&self) -> AlarmConfig {
        self.config
    }

    /// What a request of a stream may be answered that was accepted in this clock, if every earlier
    /// request of the stream has been answered. Unless the unit is disabled or its tag is in use:
    /// these come first.
    pub fn expect(&self, client: usize, stream: u8, accepted: u64) -> Expect {
        match self.streams.get(&(client, stream)) {
            None => Expect::Served,
            Some(known) if known.unsure && self.config.block => Expect::Either,
            Some(known) => match known.blocked {
                None => Expect::Served,
                Some(clock) if clock < accepted => Expect::Blocked,
                Some(_) => Expect::Either,
            },
        }
    }

    /// A request of a stream and a PD has been answered in this clock.
    pub fn answered(&mut self, client: usize, stream: u8, pd: u32, syndrome: Syndrome, clock: u64) {
        if !is_bad_key(syndrome) {
            return;
        }
        let known = self.streams.entry((client, stream)).or_default();
        let limit = u32::from(self.config.stream_threshold);
        let reached = |count: u32, limit| limit != 0 && count + 1 == limit;
        if reached(known.count, limit) {
            self.raised = true;
            if self.config.block {
                known.blocked = Some(clock);
            }
        }
        known.count = (known.count + 1).min(MOST);
        let slot = self.slots.entry(pd % self.pd_slots).or_default();
        self.raised |= reached(slot.0, u32::from(self.config.pd_threshold));
        *slot = ((slot.0 + 1).min(MOST), pd);
    }

    /// The host has cleared the count of a stream. `quiet`: no request of it was inside.
    pub fn clear_stream(&mut self, client: usize, stream: u8, quiet: bool) {
        let cleared = Stream {
            unsure: !quiet,
            ..Stream::default()
        };
        self.streams.insert((client, stream), cleared);
    }

    /// The host has cleared a slot of PDs.
    pub fn clear_slot(&mut self, slot: u32) {
        self.slots.remove(&self.slot_of(slot));
    }

    /// The host has cleared everything, while no request was inside.
    pub fn clear_all(&mut self) {
        self.streams.clear();
        self.slots.clear();
        self.slots_unsure = false;
    }

    /// Requests of a stream were dropped without an answer: nobody knows what they counted.
    pub fn lost(&mut self, client: usize, stream: u8) {
        self.streams.entry((client, stream)).or_default().unsure = true;
        self.slots_unsure = true;
    }

    /// Bad keys of a stream, and whether it is blocked; `None` if that cannot be known.
    pub fn stream(&self, client: usize, stream: u8) -> Option<(u32, bool)> {
        match self.streams.get(&(client, stream)) {
            None => Some((0, false)),
            Some(known) if known.unsure => None,
            Some(known) => Some((known.count, known.blocked.is_some())),
        }
    }

    /// Bad keys of a slot of PDs, and the PD of the last one that was answered; `None` if that
    /// cannot be known.
    pub fn slot(&self, slot: u32) -> Option<(u32, u32)> {
        let known = self.slots.get(&self.slot_of(slot)).copied();
        (!self.slots_unsure).then(|| known.unwrap_or_default())
    }

    /// The alarm was raised since this was last asked.
    pub fn take_raised(&mut self) -> bool {
        std::mem::take(&mut self.raised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_reaches_its_threshold_once() {
        let mut alarm = Alarm::new();
        alarm.configure(AlarmConfig {
            stream_threshold: 2,
            pd_threshold: 3,
            block: false,
        });
        let bad = |alarm: &mut Alarm| {
            alarm.answered(1, 2, 19, Syndrome::Pd, 5);
            alarm.take_raised()
        };
        assert_eq!(
            [(); 5].map(|()| bad(&mut alarm)),
            [false, true, true, false, false]
        );
        assert_eq!(alarm.stream(1, 2), Some((5, false)));
        assert_eq!(alarm.slot(3), Some((5, 19)));
        alarm.clear_stream(1, 2, true);
        assert_eq!(alarm.stream(1, 2), Some((0, false)));
    }

    #[test]
    fn counts_stay_at_their_end() {
        let mut alarm = Alarm::new();
        for clock in 0..300 {
            alarm.answered(0, 0, 1, Syndrome::KeyTag, clock);
        }
        assert_eq!(alarm.stream(0, 0), Some((MOST, false)));
        assert_eq!(alarm.slot(1), Some((MOST, 1)));
    }

    #[test]
    fn pds_share_a_slot_modulo_their_number() {
        for slots in [16, 64, 256] {
            let mut alarm = Alarm::with_slots(slots);
            for pd in [3, 3 + 16, 3 + 64, 3 + 256] {
                alarm.answered(0, 0, pd, Syndrome::Pd, 1);
            }
            let count = |pd: u32| alarm.slot(pd).unwrap().0;
            let expected = match slots {
                16 => [4, 4, 4],
                64 => [3, 1, 3],
                _ => [2, 1, 1],
            };
            assert_eq!([3, 19, 67].map(count), expected, "{slots}");
            alarm.clear_slot(3 + slots);
            assert_eq!(alarm.slot(3), Some((0, 0)));
        }
    }

    #[test]
    fn other_refusals_are_no_bad_keys() {
        let mut alarm = Alarm::new();
        for code in 0..=20 {
            let syndrome = Syndrome::from_code(code).unwrap();
            alarm.answered(0, 0, 1, syndrome, 1);
        }
        assert_eq!(alarm.stream(0, 0), Some((5, false)));
    }
}

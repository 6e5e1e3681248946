// SPDX-License-Identifier: Apache-2.0
//! The rules of the check.

use std::sync::Arc;

use super::change::Change;
use super::{Beats, Golden, HostWindows, Region, ADDRESS_SPACE};
use crate::types::*;

/// Longest request in bytes: the maximum message size of IBTA.
pub const MAX_REQUEST: u32 = 1 << 31;

/// Facts from outside the region that decide about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The unit is not enabled or not ready.
    pub disabled: bool,
    /// The tag belongs to a request that is not done.
    pub tag_busy: bool,
    /// The entry could not be read.
    pub bus: bool,
    /// The entry is corrupted.
    pub mpt_bad: bool,
    /// The entry is in state INVALID (a region given beside it is judged all the same, for the
    /// mask).
    pub invalid: bool,
    /// The parent of a window is gone.
    pub parent_gone: bool,
    /// The entry of a window's parent could not be read.
    pub parent_bus: bool,
    /// The entry of a window's parent is corrupted.
    pub parent_bad: bool,
}

/// What is to be answered to a request.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The first failure, or `Ok`.
    pub syndrome: Syndrome,
    /// Every rule that fails: bit n is syndrome n.
    pub mask: u32,
    /// The region or window that the key names; `None` if no address is given out.
    pub region: Option<Arc<Region>>,
    /// The region whose pages are reached, if `region` is a window.
    pub parent: Option<Arc<Region>>,
    /// Where addresses may lie.
    pub windows: HostWindows,
}

impl Verdict {
    /// The beats of the answer. The walk may still end with a fault.
    pub fn beats(&self, request: &Request) -> Beats<Arc<Region>> {
        let beats = match (&self.region, &self.parent) {
            (Some(window), Some(parent)) => Beats::through(window, parent.clone(), request),
            (Some(region), None) => Beats::segments(region.clone(), request),
            (None, _) => Beats::answer(request, self.syndrome),
        };
        beats.within(&self.windows)
    }

    fn same_as(&self, other: &Verdict) -> bool {
        self.syndrome == other.syndrome
            && same(&self.region, &other.region)
            && same(&self.parent, &other.parent)
    }
}

fn same(a: &Option<Arc<Region>>, b: &Option<Arc<Region>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

impl Golden {
    /// Applies rules 0 to 11 to a request and the valid region or window that its key names
    /// (`None`: the entry is not valid). Returns the first failure and the mask of all failures that
    /// can be known: without a region, those of rules 0 to 3.
    pub fn check(&self, region: Option<&Region>, request: &Request) -> (Syndrome, u32) {
        self.check_under(&Conditions::default(), region, request)
    }

    /// [`Golden::check`] when there is more to know than the region. The parent of a window is the
    /// valid region of its index.
    pub fn check_under(
        &self,
        conditions: &Conditions,
        region: Option<&Region>,
        request: &Request,
    ) -> (Syndrome, u32) {
        let parent = region.and_then(|region| self.parent(region));
        self.check_with(conditions, region, parent.map(Arc::as_ref), request)
    }

    /// [`Golden::check_under`] with the valid region that is to be taken for the parent of a window
    /// (`None`: its entry is not valid).
    pub fn check_with(
        &self,
        conditions: &Conditions,
        region: Option<&Region>,
        parent: Option<&Region>,
        request: &Request,
    ) -> (Syndrome, u32) {
        let mut failures = Failures::default();
        let mut refuse_if = |syndrome, failed| failures.note(syndrome, failed);
        let operation = request.operation();
        let atomic = operation == Some(Op::RemoteAtomic);
        let len = u64::from(request.len);
        let (role, index) = self.keys.decode(request.key);

        refuse_if(Syndrome::Disabled, conditions.disabled);
        refuse_if(Syndrome::TagBusy, conditions.tag_busy);

        // Rule 0: atomics are 8 bytes long; an empty request never looks at its key.
        if atomic {
            refuse_if(Syndrome::Align, len != 8);
        } else if len == 0 {
            return failures.result();
        }
        // Rules 1 and 2.
        refuse_if(Syndrome::Length, request.len > MAX_REQUEST);
        refuse_if(Syndrome::KeyIndex, index >= self.table_size);
        // The entry.
        refuse_if(Syndrome::Bus, conditions.bus);
        refuse_if(Syndrome::MptBad, conditions.mpt_bad);
        // Rule 3.
        if index < self.table_size && !conditions.bus && !conditions.mpt_bad {
            refuse_if(Syndrome::KeyState, region.is_none() || conditions.invalid);
        }
        let Some(region) = region else {
            return failures.result();
        };

        // Rule 4: a key works in its own role only, and only if the region has that role.
        let tag_fits = region.key(role).tag() == request.key.tag();
        let key_fits = role == request.role() && region.has_role(role) && tag_fits;
        refuse_if(Syndrome::KeyTag, !key_fits);
        // Rules 5 and 6: a window of type 2A belongs to its queue pair alone.
        refuse_if(
            Syndrome::Pd,
            region.kind != Kind::Mw2a && region.pd != request.pd,
        );
        refuse_if(
            Syndrome::Qp,
            region.kind.is_type2() && region.qpn != request.qpn,
        );
        // Rule 7.
        let granted = operation.is_some_and(|op| region.access.contains(op.needed_right()));
        refuse_if(Syndrome::Rights, !granted);
        // Rule 8: the last byte may be the last of the address space.
        refuse_if(
            Syndrome::Wrap,
            u128::from(request.va) + u128::from(len) > ADDRESS_SPACE,
        );
        // Rule 9.
        refuse_if(Syndrome::Bounds, !region.contains(request.va, len));
        // Rule 10.
        refuse_if(Syndrome::Align, atomic && request.va % 8 != 0);
        // Rule 11: what was bound must still be there, and hold the range.
        if region.kind.is_window() {
            refuse_if(Syndrome::Bus, conditions.parent_bus);
            refuse_if(Syndrome::MptBad, conditions.parent_bad);
            let holds = match (region.parent, parent) {
                (Some(bound), Some(parent)) => {
                    parent.gen == bound.gen
                        && parent.can_be_parent()
                        && parent.contains(region.in_parent(request.va), len)
                }
                _ => false,
            };
            refuse_if(Syndrome::Parent, conditions.parent_gone || !holds);
        }
        failures.result()
    }

    /// The valid region of the index to which a window is bound, whatever its generation.
    fn parent(&self, window: &Region) -> Option<&Arc<Region>> {
        self.current(window.parent?.index)
    }

    /// The beats that answer a request, given the valid region or window that its key names.
    pub fn beats<'r>(&'r self, region: Option<&'r Region>, request: &Request) -> Beats<&'r Region> {
        let beats = match (self.check(region, request).0, region) {
            (Syndrome::Ok, Some(region)) if request.len > 0 => match self.parent(region) {
                Some(parent) => Beats::through(region, parent.as_ref(), request),
                None => Beats::segments(region, request),
            },
            (syndrome, _) => Beats::answer(request, syndrome),
        };
        beats.within(&self.windows)
    }

    /// The verdict on a request at this moment, when no command is in flight.
    pub fn judge(&self, request: &Request) -> Verdict {
        let region = self.current(self.keys.decode(request.key).1);
        let conditions = Conditions {
            disabled: !self.is_ready(),
            ..Conditions::default()
        };
        let parent = region.and_then(|region| self.parent(region));
        self.verdict(&conditions, region, parent, request)
    }

    /// Every right verdict on a request that was accepted at clock `from` and answered at clock
    /// `to`. `conditions.disabled` is found out here.
    ///
    /// The parent of a window is looked up after the window, and so may be met in another state.
    pub fn allowed(
        &self,
        conditions: &Conditions,
        request: &Request,
        from: u64,
        to: u64,
    ) -> Vec<Verdict> {
        let mut verdicts = Vec::with_capacity(1);
        if !self.power.is_some_and(|power| power.lives(from, to)) {
            let disabled = Conditions {
                disabled: true,
                ..*conditions
            };
            verdicts.push(self.verdict(&disabled, None, None, request));
        }
        if !self.power.is_some_and(|power| power.may_live(from, to)) {
            return verdicts;
        }
        let enabled = Conditions {
            disabled: false,
            ..*conditions
        };
        let index = self.keys.decode(request.key).1;
        for region in self.met(index, from, to) {
            let parents = match region.and_then(|region| region.parent) {
                Some(parent) => self.met(parent.index, from, to),
                None => vec![None],
            };
            for parent in parents {
                let verdict = self.verdict(&enabled, region, parent, request);
                if !verdicts.iter().any(|known| known.same_as(&verdict)) {
                    verdicts.push(verdict);
                }
            }
        }
        verdicts
    }

    /// What a look-up of an index between two clocks can have met: valid regions or windows, or
    /// `None`, an entry that is not valid.
    fn met(&self, index: u32, from: u64, to: u64) -> Vec<Option<&Arc<Region>>> {
        let alive: Vec<_> = self
            .incarnations(index)
            .filter(|known| known.life.may_live(from, to))
            .collect();
        let ends = self.supposed(index, to).any(|change| change.fence);
        // Two registrations of one index are never alive at once.
        match alive.iter().find(|known| known.life.lives(from, to)) {
            Some(certain) if !ends => vec![Some(&certain.region)],
            _ => alive
                .iter()
                .map(|known| Some(&known.region))
                .chain(self.supposed(index, to).map(Change::newborn))
                .chain([None])
                .collect(),
        }
    }

    fn verdict(
        &self,
        conditions: &Conditions,
        region: Option<&Arc<Region>>,
        parent: Option<&Arc<Region>>,
        request: &Request,
    ) -> Verdict {
        let (syndrome, mask) = self.check_with(
            conditions,
            region.map(Arc::as_ref),
            parent.map(Arc::as_ref),
            request,
        );
        let reached = syndrome == Syndrome::Ok && request.len > 0;
        Verdict {
            syndrome,
            mask,
            region: region.filter(|_| reached).cloned(),
            parent: parent.filter(|_| reached).cloned(),
            windows: self.windows.clone(),
        }
    }
}

/// Collects failures in the order of the rules.
#[derive(Default)]
struct Failures {
    first: Option<Syndrome>,
    mask: u32,
}

impl Failures {
    fn note(&mut self, syndrome: Syndrome, failed: bool) {
        if failed {
            self.first.get_or_insert(syndrome);
            self.mask |= syndrome.bit();
        }
    }

    fn result(&self) -> (Syndrome, u32) {
        (self.first.unwrap_or(Syndrome::Ok), self.mask)
    }
}

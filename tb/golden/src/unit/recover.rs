// SPDX-License-Identifier: Apache-2.0
//! After errors of memory: what of the model still holds.

use std::sync::Arc;

use super::region::meaning;
use super::{Golden, Parent, Region};
use crate::codec::{MptEntry, MPT_BYTES};
use crate::types::*;

impl Golden {
    /// The regions under the bindings of an index that are remembered, if it is a window.
    pub fn parents(&self, index: u32) -> Vec<u32> {
        let bound = |region: &Arc<Region>| region.parent.map(|parent: Parent| parent.index);
        let known = self.incarnations(index).map(|known| &known.region);
        let held = self.held(index).map(|(_, region)| region);
        let mut parents: Vec<u32> = known.chain(held).filter_map(bound).collect();
        parents.sort_unstable();
        parents.dedup();
        parents
    }

    /// A command on an entry was refused because of an error of memory: takes over from the entry
    /// in memory what the error may have changed, which is the number of windows of a region, the
    /// generation of an on-demand region and whether a window is bound. An entry that differs in anything else is unusable, see
    /// [`Golden::retire`]. True if what the entry held has ended.
    pub fn recover(&mut self, index: u32, bytes: &[u8; MPT_BYTES], now: u64) -> bool {
        if self.check_entry(index, bytes).is_ok() {
            return false;
        }
        let held = self.held(index).map(|(state, held)| (state, held.clone()));
        if let (Ok(found), Some((state, region))) = (MptEntry::decode(bytes, index), held) {
            let recounted = MptEntry {
                bound: found.bound,
                ..region.entry(state)
            };
            if !region.kind.is_window() && meaning(recounted) == meaning(found) {
                self.set_bound(index, found.bound);
                return false;
            }
            // INVALIDATE_RANGE: the unit could not go back to the old generation.
            let count = region.count().renewed();
            let renewed = Region {
                gen: count.gen,
                ranges: count.ranges,
                ..Region::clone(&region)
            };
            let on_demand = region.access.contains(Access::ON_DEMAND);
            if on_demand && meaning(renewed.entry(state)) == meaning(found) {
                self.slots[index as usize].renew(count);
                return false;
            }
            let unbound = (found.state, found.kind) == (State::Alloc.code(), region.kind.code());
            if region.kind.is_window() && unbound && state == State::Valid {
                self.unbind(index, &region, &found, now);
                return true;
            }
        }
        self.retire(index, now);
        true
    }

    fn set_bound(&mut self, index: u32, bound: u32) {
        let slot = &mut self.slots[index as usize];
        let current = slot.incarnations.back_mut().map(|known| &mut known.region);
        for region in current.into_iter().chain(&mut slot.dormant) {
            Arc::make_mut(region).bound = bound;
        }
    }

    fn unbind(&mut self, index: u32, window: &Region, found: &MptEntry, now: u64) {
        let slot = &mut self.slots[index as usize];
        if let Some(current) = slot.incarnations.back_mut() {
            let doubt = current.life.doubt.map_or(now, |(start, _)| start);
            current.life.dying_from.get_or_insert(doubt);
            current.life.dead_by.get_or_insert(now);
            self.graves.push_back(index);
        }
        slot.state = State::Alloc;
        slot.count.gen = found.gen;
        slot.dormant = Some(Arc::new(Region {
            index,
            gen: found.gen,
            ranges: window.ranges,
            kind: window.kind,
            pd: window.pd,
            rkey: Key::new(window.rkey.field(), found.rkey_tag),
            ..Region::default()
        }));
    }
}

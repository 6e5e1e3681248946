// SPDX-License-Identifier: Apache-2.0
//! The checks of commands, in their order, and what a good command changes.

use std::sync::Arc;

use super::arguments::{check_pages, refuse_if, Arguments, Fresh, Limits};
use super::change::Change;
use super::{Golden, IndexCounts, Parent, Region, ADDRESS_SPACE, LOG_PHYS_PAGE, MAX_CAP};
use crate::codec::{MptEntry, LOG_TPAGE_RANGE};
use crate::frames::{FrameList, Translation};
use crate::types::*;

/// What a good command does.
pub(super) enum Effect {
    Query(MptEntry),
    Change(Change),
}

impl Golden {
    /// The first check that fails, or what the command does.
    pub(super) fn evaluate(
        &self,
        command: &Command,
        pages: Option<&Translation>,
    ) -> Result<Effect, Status> {
        refuse_if(!self.is_ready(), Status::Disabled)?;
        let change = match command.operation().ok_or(Status::BadOp)? {
            CmdOp::RegMr => self.reg_mr(command, pages)?,
            CmdOp::DeregMr => {
                let (_, region) = self.named(command, CmdOp::DeregMr)?;
                not_bound(region)?;
                Change::end(region.index, None)
            }
            CmdOp::ReregMr => self.rereg_mr(command, pages)?,
            CmdOp::Query => {
                let (state, region) = self.named(command, CmdOp::Query)?;
                return Ok(Effect::Query(region.entry(state)));
            }
            CmdOp::AllocMr => self.alloc_mr(command)?,
            CmdOp::FastRegMr => self.fast_reg_mr(command, pages)?,
            CmdOp::Invalidate => self.invalidate(command)?,
            CmdOp::AllocMw => self.alloc_mw(command)?,
            CmdOp::BindMw => self.bind_mw(command)?,
            CmdOp::DeallocMw => {
                let (state, window) = self.named(command, CmdOp::DeallocMw)?;
                Change {
                    frees: bound_to(state, window),
                    ..Change::end(window.index, None)
                }
            }
            CmdOp::RegPhys => self.reg_phys(command)?,
            CmdOp::PageReady => Change::answer(self.page_ready(command)?),
            CmdOp::InvalidateRange => self.invalidate_range(command)?,
        };
        Ok(Effect::Change(change))
    }

    /// What a command names by key and protection domain: all of both must fit, and the command
    /// must exist for what it is.
    fn named(&self, command: &Command, op: CmdOp) -> Result<(State, &Arc<Region>), Status> {
        let (role, index) = self.keys.decode(command.key);
        refuse_if(index >= self.table_size, Status::KeyIndex)?;
        let (state, region) = self.held(index).ok_or(Status::KeyState)?;
        refuse_if(state == State::Invalid, Status::KeyState)?;
        let kind = region.kind;
        let remote_inv = command.flags & flag::REMOTE_INV != 0;
        let right_role = match op {
            CmdOp::Query => (role == Role::Remote) == kind.is_window(),
            CmdOp::Invalidate => role == Role::Remote || kind == Kind::Frmr && !remote_inv,
            CmdOp::BindMw | CmdOp::DeallocMw => role == Role::Remote,
            _ => role == Role::Local,
        };
        refuse_if(
            !right_role || !opens(region, role, command.key),
            Status::KeyTag,
        )?;
        let right_kind = match op {
            CmdOp::DeregMr => matches!(kind, Kind::Mr | Kind::Frmr | Kind::Phys),
            CmdOp::ReregMr => kind == Kind::Mr,
            CmdOp::InvalidateRange => kind == Kind::Mr && region.access.contains(Access::ON_DEMAND),
            CmdOp::FastRegMr => kind == Kind::Frmr,
            CmdOp::Invalidate => kind == Kind::Frmr || kind.is_type2(),
            CmdOp::BindMw | CmdOp::DeallocMw => kind.is_window(),
            _ => true,
        };
        refuse_if(!right_kind, Status::KeyKind)?;
        refuse_if(region.pd != command.pd, Status::KeyPd)?;
        Ok((state, region))
    }

    /// The index that an allocating command gets, and its counts with this registration.
    fn allocate(&self) -> Result<(u32, IndexCounts), Status> {
        let index = self.next_index().ok_or(Status::NoIndex)?;
        Ok((index, self.count(index).next()))
    }

    // ---------------------------------------------------------------------------------------------
    // Regions
    // ---------------------------------------------------------------------------------------------

    fn reg_mr(&self, command: &Command, pages: Option<&Translation>) -> Result<Change, Status> {
        let arguments = Arguments::of_command(command);
        let all = Fresh {
            translation: true,
            access: true,
        };
        arguments.check(all, self.limits(true))?;
        let (index, count) = self.allocate()?;
        let pages = pages_of(command, command.log_page, pages);
        let region = self.region(index, count, command.pd, &arguments, pages);
        Ok(Change::birth(State::Valid, region))
    }

    fn rereg_mr(&self, command: &Command, pages: Option<&Translation>) -> Result<Change, Status> {
        let unknown = command.rereg & !rereg::ALL != 0;
        refuse_if(command.rereg == 0 || unknown, Status::BadRereg)?;
        let (_, old) = self.named(command, CmdOp::ReregMr)?;
        not_bound(old)?;
        let asks = |bit| command.rereg & bit != 0;
        let mut arguments = Arguments::of_region(old);
        let mut new_pages = old.pages.clone();
        if asks(rereg::TRANSLATION) {
            let access = arguments.access;
            arguments = Arguments {
                access,
                ..Arguments::of_command(command)
            };
            new_pages = pages_of(command, command.log_page, pages);
        }
        if asks(rereg::ACCESS) {
            arguments.access = Access(command.access);
        }
        let fresh = Fresh {
            translation: asks(rereg::TRANSLATION),
            access: asks(rereg::ACCESS),
        };
        arguments.check(fresh, self.limits(true))?;
        let pd = match asks(rereg::PD) {
            true => command.new_pd,
            false => old.pd,
        };
        let count = old.count().next();
        let region = self.region(old.index, count, pd, &arguments, new_pages);
        Ok(Change::end(
            old.index,
            Some((State::Valid, Arc::new(region))),
        ))
    }

    fn region(
        &self,
        index: u32,
        count: IndexCounts,
        pd: u32,
        arguments: &Arguments,
        pages: Translation,
    ) -> Region {
        let access = Access::from_stored(arguments.access.to_stored());
        let (lkey, rkey) = self.keys.keys(index, count.registrations(), access);
        let tree = (1..=4).contains(&arguments.level);
        let used = match arguments.level {
            LEVEL_INLINE => arguments.page_count() as usize,
            _ => 1,
        };
        Region {
            kind: Kind::Mr,
            access,
            start: arguments.start,
            length: arguments.length,
            log_page: arguments.log_page,
            level: arguments.level,
            log_tpage: match tree {
                true => arguments.log_tpage,
                false => *LOG_TPAGE_RANGE.start(),
            },
            encoding: Encoding::from_code(arguments.encoding).unwrap_or(Encoding::Raw),
            frame: std::array::from_fn(|k| if k < used { arguments.frame[k] } else { 0 }),
            lkey,
            rkey,
            pages,
            ..self.blank(Kind::Mr, index, count, pd)
        }
    }

    /// An entry that grants nothing: with the keys that the unit makes for its kind.
    fn blank(&self, kind: Kind, index: u32, count: IndexCounts, pd: u32) -> Region {
        let number = count.registrations();
        let (lkey, rkey) = self.keys.keys(index, number, Access::REMOTE_READ);
        Region {
            index,
            gen: count.gen,
            first_gen: count.gen,
            ranges: count.ranges,
            kind,
            pd,
            lkey: if kind.is_window() { Key::NONE } else { lkey },
            rkey,
            ..Region::default()
        }
    }

    fn reg_phys(&self, command: &Command) -> Result<Change, Status> {
        refuse_if(!self.phys, Status::Privilege)?;
        let arguments = Arguments::of_command(command);
        arguments.check_range()?;
        arguments.check_access(Access::KNOWN_PHYS)?;
        let (index, count) = self.allocate()?;
        let access = Access::from_stored(arguments.access.to_stored());
        let (lkey, rkey) = self.keys.keys(index, count.registrations(), access);
        let region = Region {
            access,
            start: arguments.start,
            length: arguments.length,
            log_page: LOG_PHYS_PAGE,
            lkey,
            rkey,
            ..self.blank(Kind::Phys, index, count, command.pd)
        };
        Ok(Change::birth(State::Valid, region))
    }

    /// What a registration may ask for; `pages`: one whose pages may come and go.
    fn limits(&self, pages: bool) -> Limits {
        Limits {
            max_levels: self.max_levels,
            checked: self.checked,
            on_demand: pages && self.fault_slots() > 0,
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Page faults
    // ---------------------------------------------------------------------------------------------

    /// The slot that is answered.
    fn page_ready(&self, command: &Command) -> Result<usize, Status> {
        refuse_if(self.fault_slots() == 0, Status::BadOp)?;
        let slot = command.key.0 as usize;
        refuse_if(slot >= self.fault_slots(), Status::KeyIndex)?;
        refuse_if(!self.is_told(slot), Status::KeyState)?;
        Ok(slot)
    }

    fn invalidate_range(&self, command: &Command) -> Result<Change, Status> {
        refuse_if(self.fault_slots() == 0, Status::BadOp)?;
        let (_, region) = self.named(command, CmdOp::InvalidateRange)?;
        refuse_if(command.length == 0, Status::BadLength)?;
        let end = u128::from(command.start) + u128::from(command.length);
        refuse_if(end > ADDRESS_SPACE, Status::BadWrap)?;
        // Virtual addresses, whatever the requests name.
        let last = u128::from(region.start) + u128::from(region.length);
        let outside = command.start < region.start || end > last;
        refuse_if(outside, Status::MrBounds)?;
        Ok(Change::renew(region.index))
    }

    // ---------------------------------------------------------------------------------------------
    // Fast registration and invalidation
    // ---------------------------------------------------------------------------------------------

    fn alloc_mr(&self, command: &Command) -> Result<Change, Status> {
        let cap = u32::try_from(command.length).unwrap_or(u32::MAX);
        refuse_if(cap == 0 || cap > MAX_CAP, Status::BadLength)?;
        refuse_if(command.access != 0, Status::BadFlags)?;
        check_pages(command.log_page, command.encoding, self.checked)?;
        let (index, count) = self.allocate()?;
        let region = Region {
            log_page: command.log_page,
            encoding: Encoding::from_code(command.encoding).unwrap_or(Encoding::Raw),
            cap,
            remote_inv: command.flags & flag::REMOTE_INV != 0,
            ..self.blank(Kind::Frmr, index, count, command.pd)
        };
        Ok(Change::birth(State::Alloc, region))
    }

    fn fast_reg_mr(
        &self,
        command: &Command,
        pages: Option<&Translation>,
    ) -> Result<Change, Status> {
        let (state, old) = self.named(command, CmdOp::FastRegMr)?;
        refuse_if(state != State::Alloc, Status::KeyState)?;
        let key = |role| Key::new(self.keys.field(role, old.index), command.tag);
        let (lkey, rkey) = (key(Role::Local), key(Role::Remote));
        let arguments = Arguments::of_fast_registration(command, old);
        let all = Fresh {
            translation: true,
            access: true,
        };
        arguments.check(all, self.limits(false))?;
        let count = old.count().next();
        let pages = pages_of(command, old.log_page, pages);
        let plain = self.region(old.index, count, old.pd, &arguments, pages);
        let remote = plain.access.intersects(Access::ANY_REMOTE);
        let region = Region {
            kind: Kind::Frmr,
            cap: old.cap,
            remote_inv: old.remote_inv,
            lkey,
            rkey: if remote { rkey } else { Key::NONE },
            ..plain
        };
        Ok(Change::turn(State::Valid, region))
    }

    fn invalidate(&self, command: &Command) -> Result<Change, Status> {
        let (state, region) = self.named(command, CmdOp::Invalidate)?;
        let window = region.kind.is_window();
        if command.flags & flag::REMOTE_INV != 0 {
            refuse_if(!window && !region.remote_inv, Status::RemoteInv)?;
            let bound = window && state == State::Valid;
            refuse_if(bound && region.qpn != command.qpn, Status::KeyQp)?;
        }
        refuse_if(state != State::Valid, Status::KeyState)?;
        not_bound(region)?;
        // Only the keys stay, until the next registration or binding.
        let rest = Region {
            remote_inv: region.remote_inv,
            cap: region.cap,
            log_page: region.log_page,
            encoding: region.encoding,
            lkey: region.lkey,
            rkey: region.rkey,
            ..self.blank(region.kind, region.index, region.count(), region.pd)
        };
        Ok(Change {
            frees: bound_to(state, region),
            ..Change::end(region.index, Some((State::Alloc, Arc::new(rest))))
        })
    }

    // ---------------------------------------------------------------------------------------------
    // Windows
    // ---------------------------------------------------------------------------------------------

    fn alloc_mw(&self, command: &Command) -> Result<Change, Status> {
        let asks = |bit| command.flags & bit != 0;
        let half = asks(flag::MW2A) && !asks(flag::MW2);
        refuse_if(command.access != 0 || half, Status::BadFlags)?;
        let kind = match (asks(flag::MW2), asks(flag::MW2A)) {
            (false, _) => Kind::Mw1,
            (true, false) => Kind::Mw2,
            (true, true) => Kind::Mw2a,
        };
        let (index, count) = self.allocate()?;
        let window = self.blank(kind, index, count, command.pd);
        Ok(Change::birth(State::Alloc, window))
    }

    fn bind_mw(&self, command: &Command) -> Result<Change, Status> {
        let (state, old) = self.named(command, CmdOp::BindMw)?;
        let type2 = old.kind.is_type2();
        let blank = self.blank(old.kind, old.index, old.count().next(), old.pd);
        let mut rkey = blank.rkey;
        let mut known = Access(Access::KNOWN_WINDOW.0 & !Access::ZERO_BASED.0);
        if type2 {
            refuse_if(state != State::Alloc, Status::KeyState)?;
            rkey = Key::new(rkey.field(), command.tag);
            known = Access::KNOWN_WINDOW;
        }
        let access = Access(command.access);
        refuse_if(!known.contains(access), Status::BadFlags)?;
        let unbinds = command.length == 0;
        refuse_if(type2 && unbinds, Status::BadLength)?;
        let end = u128::from(command.start) + u128::from(command.length);
        refuse_if(end > ADDRESS_SPACE, Status::BadWrap)?;
        let (then, parent) = match unbinds {
            true => (State::Alloc, None),
            false => (State::Valid, Some(self.parent_to_be(command)?)),
        };
        let bound = Region {
            access,
            start: command.start,
            length: command.length,
            qpn: if type2 { command.qpn } else { 0 },
            parent,
            rkey,
            ..blank
        };
        let change = match state {
            // The old binding of a type-1 window ends as by an invalidation.
            State::Valid => Change::end(old.index, Some((then, Arc::new(bound)))),
            _ => Change::turn(then, bound),
        };
        Ok(Change {
            binds: parent,
            frees: bound_to(state, old),
            ..change
        })
    }

    /// The checks of the region that a window is to be bound to.
    fn parent_to_be(&self, command: &Command) -> Result<Parent, Status> {
        let (role, index) = self.keys.decode(command.mkey);
        let region = match self.held(index) {
            Some((State::Valid, region)) if index != 0 && index < self.table_size => region,
            _ => return Err(Status::MrKey),
        };
        let right_key = role == Role::Local && opens(region, role, command.mkey);
        let right_kind = matches!(region.kind, Kind::Mr | Kind::Frmr);
        refuse_if(!right_key || !right_kind, Status::MrKey)?;
        refuse_if(region.pd != command.pd, Status::MrPd)?;
        let writes =
            Access(command.access).intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC);
        let allowed = region.access.contains(Access::MW_BIND)
            && (!writes || region.access.contains(Access::LOCAL_WRITE))
            && region.can_be_parent();
        refuse_if(!allowed, Status::MrRights)?;
        let inside = region.contains(command.start, command.length);
        refuse_if(!inside, Status::MrBounds)?;
        Ok(Parent {
            index,
            gen: region.gen,
            field: command.mkey.field(),
        })
    }
}

/// Is it the key of this role, and does the role exist?
fn opens(region: &Region, role: Role, key: Key) -> bool {
    region.has_role(role) && region.key(role).tag() == key.tag()
}

fn not_bound(region: &Region) -> Result<(), Status> {
    refuse_if(region.bound != 0, Status::Bound)
}

/// The region that a window is bound to.
fn bound_to(state: State, window: &Region) -> Option<Parent> {
    window.parent.filter(|_| state == State::Valid)
}

fn pages_of(command: &Command, log_page: u8, pages: Option<&Translation>) -> Translation {
    match pages {
        Some(pages) => pages.clone(),
        None if command.level == LEVEL_INLINE => {
            Arc::new(FrameList::from_addresses(log_page, command.frame))
        }
        None => Arc::new(FrameList::new(log_page)),
    }
}

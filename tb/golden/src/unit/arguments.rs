// SPDX-License-Identifier: Apache-2.0
//! What registration has to check of its arguments.

use super::{page_count, table_capacity, Region, ADDRESS_SPACE};
use crate::codec::{LOG_PAGE_RANGE, LOG_TPAGE_RANGE};
use crate::types::*;

/// Arguments of a registration, from a command or a region.
pub(super) struct Arguments {
    pub access: Access,
    pub start: u64,
    pub length: u64,
    pub log_page: u8,
    pub level: u8,
    pub log_tpage: u8,
    pub encoding: u8,
    pub frame: [u64; 4],
    /// Most pages, if ALLOC_MR has set a bound.
    pub cap: Option<u32>,
}

/// Which part of the arguments is new, and so to be checked.
#[derive(Clone, Copy)]
pub(super) struct Fresh {
    pub translation: bool,
    pub access: bool,
}

/// What registration may ask for.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub max_levels: u8,
    /// Encoding CHECKED.
    pub checked: bool,
    /// Right ON_DEMAND.
    pub on_demand: bool,
}

impl Arguments {
    pub fn of_command(command: &Command) -> Arguments {
        Arguments {
            access: Access(command.access),
            start: command.start,
            length: command.length,
            log_page: command.log_page,
            level: command.level,
            log_tpage: command.log_tpage,
            encoding: command.encoding,
            frame: command.frame,
            cap: None,
        }
    }

    pub fn of_region(region: &Region) -> Arguments {
        Arguments {
            access: region.access,
            start: region.start,
            length: region.length,
            log_page: region.log_page,
            level: region.level,
            log_tpage: region.log_tpage,
            encoding: region.encoding.code(),
            frame: region.frame,
            cap: None,
        }
    }

    /// Of a fast registration: page size, encoding and bound were fixed when `region` was
    /// allocated.
    pub fn of_fast_registration(command: &Command, region: &Region) -> Arguments {
        Arguments {
            log_page: region.log_page,
            encoding: region.encoding.code(),
            cap: Some(region.cap),
            ..Arguments::of_command(command)
        }
    }

    /// Pages of the region.
    pub fn page_count(&self) -> u128 {
        page_count(self.start, self.length, self.log_page)
    }

    /// The rules of registration, in their order.
    pub fn check(&self, fresh: Fresh, limits: Limits) -> Result<(), Status> {
        let on_demand = self.access.contains(Access::ON_DEMAND);
        if fresh.translation {
            self.check_range()?;
        }
        if fresh.access {
            let known = match limits.on_demand {
                true => Access::KNOWN | Access::ON_DEMAND,
                false => Access::KNOWN,
            };
            let windows = on_demand && self.access.contains(Access::MW_BIND);
            refuse_if(windows, Status::BadFlags)?;
            self.check_access(known)?;
        }
        if fresh.translation {
            check_pages(self.log_page, self.encoding, limits.checked)?;
        }
        // Pages inside the MPT entry cannot come and go.
        let inline = on_demand && self.level == LEVEL_INLINE;
        refuse_if(inline, Status::BadLevel)?;
        if fresh.translation {
            self.check_table(limits.max_levels)?;
        }
        Ok(())
    }

    /// BAD_LENGTH and BAD_WRAP: not empty, and inside the address space.
    pub fn check_range(&self) -> Result<(), Status> {
        refuse_if(self.length == 0, Status::BadLength)?;
        let end = u128::from(self.start) + u128::from(self.length);
        refuse_if(end > ADDRESS_SPACE, Status::BadWrap)
    }

    /// BAD_FLAGS and BAD_ACCESS.
    pub fn check_access(&self, known: Access) -> Result<(), Status> {
        refuse_if(!known.contains(self.access), Status::BadFlags)?;
        let changes = self
            .access
            .intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC);
        let local = self.access.contains(Access::LOCAL_WRITE);
        refuse_if(changes && !local, Status::BadAccess)
    }

    /// BAD_LEVEL, TABLE_SMALL and TABLE_ALIGN.
    fn check_table(&self, max_levels: u8) -> Result<(), Status> {
        let tree = (1..=4).contains(&self.level);
        let too_deep = self.level > max_levels && self.level != LEVEL_FLAT;
        let bad_tpage = tree && !LOG_TPAGE_RANGE.contains(&self.log_tpage);
        refuse_if(too_deep || bad_tpage, Status::BadLevel)?;
        let capacity = table_capacity(self.level, self.log_tpage).ok_or(Status::BadLevel)?;
        let allowed = self.cap.map_or(capacity, |cap| capacity.min(cap.into()));
        refuse_if(self.page_count() > allowed, Status::TableSmall)?;
        let (addresses, log_align) = match self.level {
            LEVEL_INLINE => (&self.frame[..self.page_count() as usize], self.log_page),
            LEVEL_FLAT => (&self.frame[..1], 3),
            _ => (&self.frame[..1], self.log_tpage),
        };
        let misaligned = addresses
            .iter()
            .any(|pa| pa.trailing_zeros() < log_align.into());
        refuse_if(misaligned, Status::TableAlign)
    }
}

/// BAD_PAGE_SIZE and BAD_ENCODING; `checked`: encoding CHECKED is known.
pub(super) fn check_pages(log_page: u8, encoding: u8, checked: bool) -> Result<(), Status> {
    refuse_if(!LOG_PAGE_RANGE.contains(&log_page), Status::BadPageSize)?;
    let known = match Encoding::from_code(encoding) {
        Some(Encoding::Checked) => checked,
        other => other.is_some(),
    };
    refuse_if(!known, Status::BadEncoding)
}

/// `status`, if it failed.
pub(super) fn refuse_if(failed: bool, status: Status) -> Result<(), Status> {
    match failed {
        true => Err(status),
        false => Ok(()),
    }
}

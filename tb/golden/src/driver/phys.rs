// SPDX-License-Identifier: Apache-2.0
//! Physical regions: memory of the kernel itself by its physical addresses, without a table.
//!
//! Nothing is pinned, and nothing stands between a key and memory but the range of the region: only
//! a privileged driver may make one, and only if [`Caps::phys`](super::Caps) says so.

use super::{match_status, CommandPort, Driver, DriverError, PortError};
use crate::host::Host;
use crate::types::{Access, CmdOp, Command, Completion, Key, Status};

/// Arguments of a physical region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysArgs {
    /// Protection domain.
    pub pd: u32,
    /// First physical address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// `IBV_ACCESS_*` without MW_BIND and ZERO_BASED.
    pub access: Access,
}

/// A physical region.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the keys stay alive until the region is deregistered"]
pub struct PhysMr {
    lkey: Key,
    rkey: Key,
    args: PhysArgs,
}

impl PhysMr {
    /// L_Key.
    pub fn lkey(&self) -> Key {
        self.lkey
    }

    /// R_Key; 0 if the region grants nothing to the peer.
    pub fn rkey(&self) -> Key {
        self.rkey
    }

    /// The arguments it was registered with.
    pub fn args(&self) -> &PhysArgs {
        &self.args
    }
}

impl Driver {
    /// Checks the arguments.
    pub fn prepare_reg_phys(&mut self, args: &PhysArgs) -> Result<Command, DriverError> {
        let (start, length) = (args.start, args.length);
        if !self.caps.phys {
            return Err(DriverError::NotPermitted);
        }
        if length == 0 {
            return Err(DriverError::ZeroLength);
        }
        if length - 1 > u64::MAX - start {
            return Err(DriverError::Wrap { start, length });
        }
        let unknown = args.access.0 & !Access::KNOWN_PHYS.0;
        if unknown != 0 {
            return Err(DriverError::UnknownFlags(unknown));
        }
        let needs_local = Access::REMOTE_WRITE | Access::REMOTE_ATOMIC;
        if args.access.intersects(needs_local) && !args.access.contains(Access::LOCAL_WRITE) {
            return Err(DriverError::NoLocalWrite);
        }
        if args.pd >> 24 != 0 {
            return Err(DriverError::Pd(args.pd));
        }
        Ok(Command {
            id: self.new_id(),
            op: CmdOp::RegPhys.code(),
            pd: args.pd,
            access: args.access.0,
            start,
            length,
            ..Command::default()
        })
    }

    /// Turns the completion into a region.
    pub fn finish_reg_phys(
        &mut self,
        command: &Command,
        args: &PhysArgs,
        completion: &Completion,
    ) -> Result<PhysMr, DriverError> {
        self.outstanding.remove(&command.id);
        match match_status(command.id, CmdOp::RegPhys, completion)? {
            Status::Ok => Ok(PhysMr {
                lkey: completion.lkey,
                rkey: completion.rkey,
                args: *args,
            }),
            status => Err(DriverError::Refused(status)),
        }
    }

    /// Registers physical memory, blocking.
    pub fn reg_phys(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        args: &PhysArgs,
    ) -> Result<PhysMr, DriverError> {
        let command = self.prepare_reg_phys(args)?;
        match port.submit(&mut host.mem, &command) {
            Ok(completion) => self.finish_reg_phys(&command, args, &completion),
            Err(e) => {
                if matches!(e, PortError::NotSent(_)) {
                    self.outstanding.remove(&command.id);
                }
                Err(e.into())
            }
        }
    }

    /// The command that ends a physical region.
    pub fn prepare_dereg_phys(&mut self, mr: &PhysMr) -> Command {
        self.dereg_command(mr.lkey, mr.args.pd)
    }

    /// `true`: the region is gone. `false`: its keys are dead, but accesses may be under way, and a
    /// second completion will come. On an error the region lives.
    pub fn finish_dereg_phys(
        &mut self,
        command: &Command,
        completion: &Completion,
    ) -> Result<bool, DriverError> {
        match match_status(command.id, CmdOp::DeregMr, completion)? {
            Status::Pending => Ok(false),
            status => {
                self.outstanding.remove(&command.id);
                match status {
                    Status::Ok => Ok(true),
                    status => Err(DriverError::Refused(status)),
                }
            }
        }
    }
}

// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! A serial port.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{flock, FlockOperation, Mode, OFlags};
use rustix::termios::{
    tcflush, tcgetattr, tcsetattr, ControlModes, OptionalActions, QueueSelector,
};
use thiserror::Error;

/// A serial port cannot be used, or not any more.
#[derive(Debug, Error)]
pub enum LineError {
    /// It cannot be opened.
    #[error("{}: cannot be opened: {why}; expected a serial port such as /dev/ttyUSB0, or `sim`", port.display())]
    Open {
        /// Which.
        port: PathBuf,
        /// Why.
        why: String,
    },
    /// Another program has it.
    #[error("{}: is in use by another program; expected a port that nobody else has open", port.display())]
    InUse {
        /// Which.
        port: PathBuf,
    },
    /// It is no serial port, or does not know the speed.
    #[error("{}: cannot be set to {baud} baud: {why}; expected a serial port with that speed", port.display())]
    Mode {
        /// Which.
        port: PathBuf,
        /// Bits per second.
        baud: u32,
        /// Why.
        why: String,
    },
    /// It has gone.
    #[error("{}: the port has gone ({why}); expected a cable that stays in: plug it in and run again", port.display())]
    Gone {
        /// Which.
        port: PathBuf,
        /// What the system says.
        why: String,
    },
    /// It takes no bytes.
    #[error("{}: takes no bytes any more; expected a bridge that sends what it is given", port.display())]
    Stuck {
        /// Which.
        port: PathBuf,
    },
    /// The simulated board has stopped.
    #[error("the simulated board has stopped: {0}")]
    Board(String),
}

/// What the link needs of a line.
pub trait Line {
    /// Sends bytes.
    fn send(&mut self, bytes: &[u8]) -> Result<(), LineError>;
    /// Waits a moment for bytes and adds them to `to`.
    fn receive(&mut self, to: &mut Vec<u8>) -> Result<(), LineError>;
    /// Time of the line: that of the world, or simulated.
    fn now(&self) -> Duration;
    /// Time that passes between the last byte that is sent and the first one of the answer, at most,
    /// besides the time that bytes take.
    fn turnaround(&self) -> Duration;
}

impl<L: Line + ?Sized> Line for Box<L> {
    fn send(&mut self, bytes: &[u8]) -> Result<(), LineError> {
        (**self).send(bytes)
    }

    fn receive(&mut self, to: &mut Vec<u8>) -> Result<(), LineError> {
        (**self).receive(to)
    }

    fn now(&self) -> Duration {
        (**self).now()
    }

    fn turnaround(&self) -> Duration {
        (**self).turnaround()
    }
}

/// A serial port in raw mode.
#[derive(Debug)]
pub struct Serial {
    file: File,
    port: PathBuf,
    start: Instant,
}

/// Bytes of a bridge and of the system wait at most so long.
const TURNAROUND: Duration = Duration::from_millis(150);
/// A port that takes no byte for so long is stuck.
const STUCK: Duration = Duration::from_secs(5);
/// A look for bytes takes at most so long.
const MOMENT: Duration = Duration::from_millis(10);

impl Serial {
    /// Opens a port and sets it to raw bytes.
    pub fn open(port: &Path, baud: u32) -> Result<Self, LineError> {
        let opened = rustix::fs::open(
            port,
            OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        );
        let file = File::from(opened.map_err(|e| LineError::Open {
            port: port.to_owned(),
            why: e.to_string(),
        })?);
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| LineError::InUse {
            port: port.to_owned(),
        })?;
        let mode = || -> rustix::io::Result<()> {
            let mut mode = tcgetattr(&file)?;
            mode.make_raw();
            // No hand-shake lines are connected.
            mode.control_modes.remove(ControlModes::CRTSCTS);
            mode.control_modes
                .insert(ControlModes::CLOCAL | ControlModes::CREAD);
            mode.set_speed(baud)?;
            tcsetattr(&file, OptionalActions::Now, &mode)?;
            // What came before is nobody's.
            tcflush(&file, QueueSelector::IOFlush)
        };
        mode().map_err(|e| LineError::Mode {
            port: port.to_owned(),
            baud,
            why: e.to_string(),
        })?;
        Ok(Self {
            file,
            port: port.to_owned(),
            start: Instant::now(),
        })
    }

    fn gone(&self, why: &dyn std::fmt::Display) -> LineError {
        LineError::Gone {
            port: self.port.clone(),
            why: why.to_string(),
        }
    }

    /// Waits until the port can do something. `false`: nothing for that long.
    fn wait(&self, flags: PollFlags, time: Duration) -> Result<bool, LineError> {
        let mut fds = [PollFd::new(&self.file, flags)];
        let time = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(self.gone(&e)),
        }
        let found = fds[0].revents();
        if found.intersects(PollFlags::ERR | PollFlags::NVAL)
            || found.contains(PollFlags::HUP) && !found.contains(PollFlags::IN)
        {
            return Err(self.gone(&"hung up"));
        }
        Ok(found.intersects(flags))
    }
}

impl Line for Serial {
    fn send(&mut self, mut bytes: &[u8]) -> Result<(), LineError> {
        let mut last = Instant::now();
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(n) if n > 0 => {
                    bytes = &bytes[n..];
                    last = Instant::now();
                }
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(self.gone(&e)),
            }
            if !bytes.is_empty() {
                if last.elapsed() > STUCK {
                    return Err(LineError::Stuck {
                        port: self.port.clone(),
                    });
                }
                self.wait(PollFlags::OUT, MOMENT)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, to: &mut Vec<u8>) -> Result<(), LineError> {
        if !self.wait(PollFlags::IN, MOMENT)? {
            return Ok(());
        }
        let mut bytes = [0; 4096];
        match self.file.read(&mut bytes) {
            Ok(0) => Err(self.gone(&"end of file")),
            Ok(n) => {
                to.extend(&bytes[..n]);
                Ok(())
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(e) => Err(self.gone(&e)),
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn turnaround(&self) -> Duration {
        TURNAROUND
    }
}

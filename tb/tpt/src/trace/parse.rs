// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Parser of traces: one event a line.

use std::collections::HashMap;

use crate::input::{BadInput, Object, Place};
use crate::verbs::{Element, Verb};

/// A process of a trace, or a device context of a process. Handles are unique only inside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Context {
    /// Number of the process inside the trace.
    pub proc: u32,
    /// File descriptor of the device.
    pub ctx: u32,
}

/// A registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reg {
    /// Handle of the protection domain.
    pub pd: u32,
    /// Address in the process.
    pub addr: u64,
    /// Address on the wire.
    pub iova: u64,
    /// Bytes.
    pub length: u64,
    /// `IBV_ACCESS_*`.
    pub access: u32,
    /// Recorded L_Key.
    pub lkey: u32,
    /// Recorded R_Key; 0 if none was given.
    pub rkey: u32,
    /// 0 if it worked.
    pub errno: i64,
    /// Permissions of the mapping, such as `rw-p`; empty if there is none.
    pub map: String,
}

/// Frames of a part of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// Recorded L_Key of the registration.
    pub lkey: u32,
    /// First page (0 holds the first byte).
    pub first: u64,
    /// Runs: first frame and number; frame 0 is not known.
    pub runs: Vec<[u64; 2]>,
}

/// What a send queue entry does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendKind {
    /// Moves data.
    Data(Verb),
    /// Binds a window or invalidates; the name of the operation.
    Window(&'static str),
}

/// An entry of a send queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Send {
    /// Queue pair.
    pub qpn: u32,
    /// Operation.
    pub kind: SendKind,
    /// The program's name for it.
    pub wr_id: u64,
    /// Gives a completion also when it succeeds.
    pub signaled: bool,
    /// Data is in the request itself.
    pub inline: bool,
    /// Elements.
    pub elements: Vec<Element>,
    /// Remote address and R_Key.
    pub remote: Option<(u64, u32)>,
    /// Destination of a datagram.
    pub dest_qpn: Option<u32>,
    /// 0 if it was posted.
    pub errno: i64,
}

/// A posted receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recv {
    /// Queue pair (`Err`: handle of the shared receive queue).
    pub queue: Result<u32, u32>,
    /// The program's name for it.
    pub wr_id: u64,
    /// Elements.
    pub elements: Vec<Element>,
    /// 0 if it was posted.
    pub errno: i64,
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Queue pair.
    pub qpn: u32,
    /// The program's name for the request.
    pub wr_id: u64,
    /// `SUCCESS` or the error.
    pub status: String,
    /// Operation, where the status is `SUCCESS`.
    pub opcode: String,
    /// Bytes received.
    pub byte_len: Option<u64>,
}

/// What an event is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Name of the trace.
    Meta(String),
    /// Protection domain made.
    Pd(u32),
    /// Registration.
    Reg(Reg),
    /// Frames of the registration before.
    Pages(Pages),
    /// Deregistration: recorded L_Key.
    Dereg(u32),
    /// Re-registration; the recorded drivers have none.
    Rereg,
    /// Queue pair: number, protection domain, shared receive queue, datagrams.
    Qp {
        /// Number.
        qpn: u32,
        /// Protection domain.
        pd: u32,
        /// Shared receive queue.
        srq: Option<u32>,
        /// The requester learns of remote errors (RC, XRC).
        reliable: bool,
    },
    /// Change of a queue pair.
    ModifyQp {
        /// Number.
        qpn: u32,
        /// New access flags.
        access: Option<u32>,
        /// New peer.
        dest_qpn: Option<u32>,
    },
    /// Queue pair gone.
    DestroyQp(u32),
    /// Shared receive queue: handle and protection domain.
    Srq(u32, u32),
    /// Entry of a send queue.
    Send(Send),
    /// Receive.
    Recv(Recv),
    /// Completion.
    Completion(Completion),
    /// A window's R_Key was made (allocation or bind).
    WindowKey(u32),
    /// Requests after this are missing.
    Capped,
    /// An event without meaning for the replay.
    Other,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Line number.
    pub line: u64,
    /// Where.
    pub at: Context,
    /// What.
    pub what: What,
}

const ELEMENTS: &str = "a list of [address, length, lkey]";
const RUNS: &str = "a list of [first frame, count]";
/// Largest frame number: addresses have 64 bits, frames 4 KiB.
const FRAME_BITS: u32 = 52;
/// Largest number of pages of one registration that is taken from a file.
const MAX_PAGES: u64 = 1 << 40;

/// Gives numbers to the names of processes.
#[derive(Debug, Default)]
pub struct Names {
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&n) = self.numbers.get(name) {
            return n;
        }
        let n = self.numbers.len() as u32;
        self.numbers.insert(name.to_owned(), n);
        n
    }
}

/// Parses a line.
pub fn parse(p: &Place, o: &Object, names: &mut Names) -> Result<Event, BadInput> {
    let ev = o.str(p, "ev")?;
    if ev == "meta" {
        return Ok(Event {
            line: p.line,
            at: Context { proc: 0, ctx: 0 },
            what: What::Meta(o.opt_str(p, "name")?.unwrap_or("trace").to_owned()),
        });
    }
    let at = Context {
        proc: names.number(o.opt_str(p, "proc")?.unwrap_or_default()),
        ctx: o.opt_u32(p, "ctx")?.unwrap_or(0),
    };
    let errno = o.opt_i64(p, "errno")?.unwrap_or(0);
    let failed = errno != 0;
    let what = match ev {
        "pd" if !failed => What::Pd(o.u32(p, "pd")?),
        "reg_mr" => What::Reg(parse_reg(p, o, errno)?),
        "pages" => What::Pages(parse_pages(p, o)?),
        "dereg_mr" if !failed => What::Dereg(o.u32(p, "lkey")?),
        "rereg_mr" => What::Rereg,
        "qp" if !failed => What::Qp {
            qpn: qpn(p, o, "qpn")?,
            pd: o.u32(p, "pd")?,
            srq: o.opt_u32(p, "srq")?,
            reliable: matches!(
                o.opt_str(p, "type")?,
                None | Some("RC" | "XRC_SEND" | "XRC")
            ),
        },
        "modify_qp" if !failed => What::ModifyQp {
            qpn: qpn(p, o, "qpn")?,
            access: o.opt_u32(p, "access")?,
            dest_qpn: if o.has("dest_qpn") {
                Some(qpn(p, o, "dest_qpn")?)
            } else {
                None
            },
        },
        "destroy_qp" if !failed => What::DestroyQp(qpn(p, o, "qpn")?),
        "srq" if !failed => What::Srq(o.u32(p, "srq")?, o.u32(p, "pd")?),
        "send" => What::Send(parse_send(p, o, errno)?),
        "recv" => What::Recv(parse_recv(p, o, Ok(qpn(p, o, "qpn")?), errno)?),
        "srq_recv" => What::Recv(parse_recv(p, o, Err(o.u32(p, "srq")?), errno)?),
        "wc" => What::Completion(Completion {
            qpn: qpn(p, o, "qpn")?,
            wr_id: o.u64(p, "wr_id")?,
            status: o.str(p, "status")?.to_owned(),
            opcode: o.opt_str(p, "opcode")?.unwrap_or_default().to_owned(),
            byte_len: if o.has("byte_len") {
                Some(o.bits(p, "byte_len", 32)?)
            } else {
                None
            },
        }),
        "alloc_mw" | "bind_mw" if !failed => What::WindowKey(o.u32(p, "rkey")?),
        "capped" => What::Capped,
        _ => What::Other,
    };
    Ok(Event {
        line: p.line,
        at,
        what,
    })
}

fn qpn(p: &Place, o: &Object, name: &str) -> Result<u32, BadInput> {
    o.bits(p, name, 24).map(|v| v as u32)
}

fn parse_reg(p: &Place, o: &Object, errno: i64) -> Result<Reg, BadInput> {
    let addr = o.u64(p, "addr")?;
    // A refused registration has no keys.
    let key = |name| {
        if errno == 0 {
            o.u32(p, name)
        } else {
            Ok(o.opt_u32(p, name)?.unwrap_or(0))
        }
    };
    Ok(Reg {
        pd: o.u32(p, "pd")?,
        addr,
        iova: if o.has("iova") {
            o.u64(p, "iova")?
        } else {
            addr
        },
        length: o.u64(p, "length")?,
        access: o.u32(p, "access")?,
        lkey: key("lkey")?,
        rkey: key("rkey")?,
        errno,
        map: o.opt_str(p, "map")?.unwrap_or_default().to_owned(),
    })
}

fn parse_pages(p: &Place, o: &Object) -> Result<Pages, BadInput> {
    let first = o.u64(p, "first_page")?;
    let runs = o.tuples::<2>(p, "pfns", RUNS)?;
    let mut total = first;
    for (i, [frame, count]) in runs.iter().enumerate() {
        let end = frame.checked_add(*count);
        if end.map_or(true, |end| end > 1 << FRAME_BITS) {
            return Err(p.bad(
                format!("\"pfns[{i}]\" is the frames {frame} to {frame}+{count}"),
                format!("frame numbers of at most {FRAME_BITS} bits"),
            ));
        }
        total = total.saturating_add(*count);
    }
    if total > MAX_PAGES {
        return Err(p.bad(
            format!("the pages end at {total}"),
            format!("at most {MAX_PAGES} pages"),
        ));
    }
    if o.has("page_size") && o.u64(p, "page_size")? != 4096 {
        return Err(p.bad(
            format!("\"page_size\" is {}", o.u64(p, "page_size")?),
            "4096",
        ));
    }
    Ok(Pages {
        lkey: o.u32(p, "lkey")?,
        first,
        runs,
    })
}

fn parse_elements(p: &Place, o: &Object) -> Result<Vec<Element>, BadInput> {
    let mut out = Vec::new();
    for (i, [addr, length, lkey]) in o.tuples::<3>(p, "sges", ELEMENTS)?.into_iter().enumerate() {
        let narrow = |name: &str, v: u64| {
            u32::try_from(v).map_err(|_| {
                p.bad(
                    format!("the {name} of \"sges[{i}]\" is {v}"),
                    "a whole number of at most 32 bits",
                )
            })
        };
        out.push(Element {
            addr,
            length: u64::from(narrow("length", length)?),
            lkey: narrow("lkey", lkey)?,
        });
    }
    Ok(out)
}

const OPCODES: &[&str] = &[
    "write",
    "write_imm",
    "send",
    "send_imm",
    "read",
    "cas",
    "faa",
    "local_inv",
    "bind_mw",
    "send_inv",
];

fn parse_send(p: &Place, o: &Object, errno: i64) -> Result<Send, BadInput> {
    let opcode = o.one_of(p, "opcode", OPCODES)?;
    let kind = match (Verb::from_name(opcode), opcode) {
        (Some(verb), _) => SendKind::Data(verb),
        (None, "local_inv") => SendKind::Window("local_inv"),
        (None, "send_inv") => SendKind::Window("send_inv"),
        (None, _) => SendKind::Window("bind_mw"),
    };
    let remote = match kind {
        SendKind::Data(verb) if verb.remote_op().is_some() => {
            Some((o.u64(p, "raddr")?, o.u32(p, "rkey")?))
        }
        SendKind::Window("bind_mw") if o.has("rkey") => Some((0, o.u32(p, "rkey")?)),
        _ => None,
    };
    let flags = o.opt_u32(p, "flags")?.unwrap_or(0);
    Ok(Send {
        qpn: qpn(p, o, "qpn")?,
        kind,
        wr_id: o.u64(p, "wr_id")?,
        signaled: flags & 2 != 0,
        inline: o.flag(p, "inline")? || flags & 8 != 0,
        elements: if o.has("sges") {
            parse_elements(p, o)?
        } else {
            Vec::new()
        },
        remote,
        dest_qpn: if o.has("dest_qpn") {
            Some(qpn(p, o, "dest_qpn")?)
        } else {
            None
        },
        errno,
    })
}

fn parse_recv(
    p: &Place,
    o: &Object,
    queue: Result<u32, u32>,
    errno: i64,
) -> Result<Recv, BadInput> {
    Ok(Recv {
        queue,
        wr_id: o.u64(p, "wr_id")?,
        elements: if o.has("sges") {
            parse_elements(p, o)?
        } else {
            Vec::new()
        },
        errno,
    })
}

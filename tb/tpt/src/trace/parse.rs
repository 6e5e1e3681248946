// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Parser of traces: one event a line.

use std::collections::{HashMap, HashSet};

use crate::input::{BadInput, Object, Place};
use crate::verbs::{Element, Verb, WC_STATUSES};

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
    /// Handle in its context, if recorded.
    pub handle: Option<u32>,
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
    /// Re-registration: the region as it is afterwards.
    Rereg {
        /// Recorded L_Key so far.
        old_lkey: u32,
        /// `IBV_REREG_MR_CHANGE_*`: 1 translation, 2 domain, 4 access.
        flags: u32,
        /// New values.
        reg: Reg,
    },
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
        /// One peer, whose messages arrive all and in order (RC).
        connected: bool,
    },
    /// Change of a queue pair.
    ModifyQp {
        /// Number.
        qpn: u32,
        /// New state.
        state: Option<String>,
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
    /// A window's R_Key was made.
    WindowKey(u32),
    /// A window is gone; its R_Key.
    WindowGone(u32),
    /// A device context is gone, with all that it held.
    Close,
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
const PAGE: u64 = 4096;
/// Largest number of pages of one registration that is taken from a file.
const MAX_PAGES: u64 = 1 << 40;

/// Events of traces.
const EVENTS: &[&str] = &[
    "meta",
    "open",
    "close",
    "pd",
    "dealloc_pd",
    "reg_mr",
    "pages",
    "dereg_mr",
    "rereg_mr",
    "qp",
    "modify_qp",
    "destroy_qp",
    "srq",
    "send",
    "recv",
    "srq_recv",
    "bind_mw",
    "alloc_mw",
    "dealloc_mw",
    "wc",
    "capped",
];

/// Operations of completions: those of the recordings, and the names of `enum ibv_wc_opcode` where
/// they differ.
const COMPLETED: &[&str] = &[
    "recv",
    "recv_write_imm",
    "send",
    "write",
    "read",
    "cas",
    "faa",
    "bind_mw",
    "local_inv",
    "recv_rdma_with_imm",
    "rdma_write",
    "rdma_read",
    "comp_swap",
    "fetch_add",
];

/// `enum ibv_qp_type`.
const QP_TYPES: &[&str] = &[
    "RC",
    "UC",
    "UD",
    "XRC_SEND",
    "XRC_RECV",
    "XRC",
    "RAW_PACKET",
    "DRIVER",
];

/// `enum ibv_qp_state`.
const QP_STATES: &[&str] = &[
    "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR", "UNKNOWN",
];

/// A live registration.
#[derive(Debug, Clone)]
struct LiveRegion {
    at: Context,
    handle: Option<u32>,
    rkey: u32,
    pages: u64,
    covered: Vec<(u64, u64)>,
}

impl LiveRegion {
    fn new(at: Context, reg: &Reg) -> Self {
        let bytes = u128::from(reg.addr % PAGE) + u128::from(reg.length);
        Self {
            at,
            handle: reg.handle,
            rkey: reg.rkey,
            pages: bytes.div_ceil(u128::from(PAGE)) as u64,
            covered: Vec::new(),
        }
    }
}

/// What the lines before say: numbers for the names of processes, and what is alive.
#[derive(Debug, Default)]
pub struct Names {
    numbers: HashMap<String, u32>,
    time: Option<u64>,
    /// By recorded L_Key.
    regions: HashMap<u32, LiveRegion>,
    /// Queue pairs of the trace, and whether they are alive.
    qps: HashMap<u32, bool>,
    srqs: HashSet<(Context, u32)>,
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

    /// Lines are in the order of time.
    fn time(&mut self, p: &Place, o: &Object) -> Result<(), BadInput> {
        if !o.has("t") {
            return Ok(());
        }
        let t = o.u64(p, "t")?;
        if let Some(before) = self.time.filter(|&before| before > t) {
            return Err(p.bad(
                format!("\"t\" is {t}, but the line before has {before}"),
                "lines in the order of time",
            ));
        }
        self.time = Some(t);
        Ok(())
    }

    /// Checks an event against what is alive, and follows it.
    fn check(&mut self, p: &Place, o: &Object, at: Context, what: &What) -> Result<(), BadInput> {
        let qp = |qpn: u32, live: bool| match self.qps.get(&qpn) {
            None => Err(p.bad(
                format!("no queue pair {qpn} was made"),
                "the number of a queue pair of the lines before",
            )),
            Some(false) if live => Err(p.bad(
                format!("queue pair {qpn} was destroyed"),
                "the number of a live queue pair",
            )),
            Some(_) => Ok(()),
        };
        match what {
            What::Reg(reg) if reg.errno == 0 => {
                if self
                    .regions
                    .get(&reg.lkey)
                    .is_some_and(|live| live.at.proc == at.proc)
                {
                    return Err(p.bad(
                        format!("\"lkey\" is {}, which a live region has", reg.lkey),
                        "a key of its own",
                    ));
                }
                self.regions.insert(reg.lkey, LiveRegion::new(at, reg));
            }
            What::Pages(pages) => self.pages(p, o, at, pages)?,
            What::Dereg(lkey) if !self.regions.contains_key(lkey) => {
                return Err(p.bad(
                    format!("\"lkey\" is {lkey}, which no live region has"),
                    "the L_Key of a live region",
                ));
            }
            What::Dereg(lkey) => {
                self.regions.remove(lkey);
            }
            What::Rereg { old_lkey, reg, .. } if reg.errno == 0 => {
                self.regions.remove(old_lkey);
                if self.regions.contains_key(&reg.lkey) {
                    return Err(p.bad(
                        format!("\"lkey\" is {}, which a live region has", reg.lkey),
                        "a key of its own",
                    ));
                }
                self.regions.insert(reg.lkey, LiveRegion::new(at, reg));
            }
            What::Qp { qpn, .. } => {
                self.qps.insert(*qpn, true);
            }
            What::ModifyQp { qpn, .. } => qp(*qpn, true)?,
            What::DestroyQp(qpn) => {
                qp(*qpn, true)?;
                self.qps.insert(*qpn, false);
            }
            What::Srq(handle, _) => {
                self.srqs.insert((at, *handle));
            }
            What::Send(s) => qp(s.qpn, true)?,
            What::Recv(r) => match r.queue {
                Ok(qpn) => qp(qpn, true)?,
                Err(srq) if !self.srqs.contains(&(at, srq)) => {
                    return Err(p.bad(
                        format!("no shared receive queue {srq} was made"),
                        "the handle of a shared receive queue of the same context",
                    ));
                }
                Err(_) => {}
            },
            What::Completion(c) => qp(c.qpn, false)?,
            What::WindowKey(rkey) => {
                let index = rkey >> 8;
                let of_region = |(lkey, r): (&u32, &LiveRegion)| {
                    lkey >> 8 == index || (r.rkey != 0 && r.rkey >> 8 == index)
                };
                if self.regions.iter().any(of_region) {
                    return Err(p.bad(
                        format!("\"rkey\" is {rkey}, whose index a live region has"),
                        "an index of its own",
                    ));
                }
            }
            What::Close => self.regions.retain(|_, r| r.at != at),
            _ => {}
        }
        Ok(())
    }

    /// Pages fit their registration.
    fn pages(&mut self, p: &Place, o: &Object, at: Context, pages: &Pages) -> Result<(), BadInput> {
        let Some(region) = self
            .regions
            .get_mut(&pages.lkey)
            .filter(|r| r.at.proc == at.proc)
        else {
            return Err(p.bad(
                format!("\"lkey\" is {}, which no live region has", pages.lkey),
                "the L_Key of a live region of the same process",
            ));
        };
        let total = region.pages;
        let n = pages
            .runs
            .iter()
            .fold(0u64, |n, [_, count]| n.saturating_add(*count));
        for (name, right) in [("npages", n), ("total_pages", total)] {
            if o.has(name) && o.u64(p, name)? != right {
                return Err(p.bad(
                    format!("\"{name}\" is {}", o.u64(p, name)?),
                    right.to_string(),
                ));
            }
        }
        let end = pages.first.saturating_add(n);
        if end > total {
            return Err(p.bad(
                format!("the pages end at {end}"),
                format!("at most the {total} pages of the region"),
            ));
        }
        if !o.flag(p, "sampled")? && (pages.first > 0 || n < total) {
            return Err(p.bad(
                format!("{n} pages from page {} on are given", pages.first),
                format!("all {total} pages of the region, or \"sampled\": true"),
            ));
        }
        if region
            .covered
            .iter()
            .any(|&(first, last)| pages.first < last && first < end)
        {
            return Err(p.bad(
                "pages of the region are given twice",
                "every page at most once",
            ));
        }
        region.covered.push((pages.first, end));
        Ok(())
    }
}

/// Parses a line.
pub fn parse(p: &Place, o: &Object, names: &mut Names) -> Result<Event, BadInput> {
    let ev = o.one_of(p, "ev", EVENTS)?;
    if ev == "meta" {
        return Ok(Event {
            line: p.line,
            at: Context { proc: 0, ctx: 0 },
            what: What::Meta(o.opt_str(p, "name")?.unwrap_or("trace").to_owned()),
        });
    }
    names.time(p, o)?;
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
        "rereg_mr" => parse_rereg(p, o, errno, at, names)?,
        "close" => What::Close,
        "qp" if !failed => What::Qp {
            qpn: qpn(p, o, "qpn")?,
            pd: o.u32(p, "pd")?,
            srq: o.opt_u32(p, "srq")?,
            reliable: matches!(qp_type(p, o)?, "RC" | "XRC_SEND" | "XRC"),
            connected: qp_type(p, o)? == "RC",
        },
        "modify_qp" if !failed => What::ModifyQp {
            qpn: qpn(p, o, "qpn")?,
            state: if o.has("state") {
                Some(o.one_of(p, "state", QP_STATES)?.to_owned())
            } else {
                None
            },
            access: o.opt_u32(p, "access")?,
            dest_qpn: if o.has("dest_qpn") {
                Some(qpn(p, o, "dest_qpn")?)
            } else {
                None
            },
        },
        "destroy_qp" if !failed => What::DestroyQp(qpn(p, o, "qpn")?),
        "srq" if !failed => What::Srq(o.u32(p, "srq")?, o.u32(p, "pd")?),
        "send" => What::Send(parse_send(p, o, o.one_of(p, "opcode", OPCODES)?, errno)?),
        "recv" => What::Recv(parse_recv(p, o, Ok(qpn(p, o, "qpn")?), errno)?),
        "srq_recv" => What::Recv(parse_recv(p, o, Err(o.u32(p, "srq")?), errno)?),
        "wc" => What::Completion(parse_completion(p, o)?),
        "bind_mw" => What::Send(parse_send(p, o, "bind_mw", errno)?),
        "alloc_mw" if !failed => What::WindowKey(o.u32(p, "rkey")?),
        "dealloc_mw" if !failed => What::WindowGone(o.u32(p, "rkey")?),
        "capped" => What::Capped,
        _ => What::Other,
    };
    names.check(p, o, at, &what)?;
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
        handle: o.opt_u32(p, "handle")?,
        errno,
        map: o.opt_str(p, "map")?.unwrap_or_default().to_owned(),
    })
}

fn qp_type<'a>(p: &Place, o: &'a Object) -> Result<&'a str, BadInput> {
    if o.has("type") {
        o.one_of(p, "type", QP_TYPES)
    } else {
        Ok("RC")
    }
}

fn parse_rereg(
    p: &Place,
    o: &Object,
    errno: i64,
    at: Context,
    names: &Names,
) -> Result<What, BadInput> {
    let reg = parse_reg(p, o, errno)?;
    let flags = o.u32(p, "flags")?;
    if errno == 0 && !(1..=7).contains(&flags) {
        return Err(p.bad(
            format!("\"flags\" is {flags}"),
            "a sum of 1 (translation), 2 (domain) and 4 (access)",
        ));
    }
    let same = |r: &LiveRegion| r.at == at && r.handle.is_some() && r.handle == reg.handle;
    let old = names
        .regions
        .iter()
        .filter(|(_, r)| same(r))
        .map(|(lkey, _)| *lkey)
        .min();
    let Some(old_lkey) = old else {
        return Err(p.bad(
            "no live region has this \"handle\"",
            "the handle of a live region of the same context",
        ));
    };
    Ok(What::Rereg {
        old_lkey,
        flags,
        reg,
    })
}

fn parse_completion(p: &Place, o: &Object) -> Result<Completion, BadInput> {
    let qpn = qpn(p, o, "qpn")?;
    let wr_id = o.u64(p, "wr_id")?;
    if !o.has("status") {
        o.str(p, "status")?;
    }
    let status = o.one_of(p, "status", WC_STATUSES)?;
    let success = status == "SUCCESS";
    let opcode = if success || o.has("opcode") {
        match o.one_of(p, "opcode", COMPLETED)? {
            "recv_rdma_with_imm" => "recv_write_imm",
            "rdma_write" => "write",
            "rdma_read" => "read",
            "comp_swap" => "cas",
            "fetch_add" => "faa",
            other => other,
        }
    } else {
        ""
    };
    let byte_len = if o.has("byte_len") || (success && opcode.starts_with("recv")) {
        Some(o.bits(p, "byte_len", 32)?)
    } else {
        None
    };
    Ok(Completion {
        qpn,
        wr_id,
        status: status.to_owned(),
        opcode: opcode.to_owned(),
        byte_len,
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

fn parse_send(p: &Place, o: &Object, opcode: &str, errno: i64) -> Result<Send, BadInput> {
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

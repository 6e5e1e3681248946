// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The board: its serial line and its link bit by bit, and `tpt board --port sim` with and without
//! noise. Needs the model `board`.
#![cfg(feature = "rtl")]

use std::cell::Cell;
use std::process::{Command, Output};
use std::rc::Rc;

use tpt::board::frame::{encode, Decoder};
use tpt::board::gen::{self, ident, op, status};
use tpt::board::link::{Batch, Link, LinkError, Reply};
use tpt::board::port::{BoardOptions, BoardTarget};
use tpt::board::serial::{Line, LineError};
use tpt::board::sim::{BitReceiver, BitSender, Board, Noise, SimBoard, SimPort, BAUD, CLOCK_HZ};
use tpt::scenario::{parse, run};

/// Clocks of a byte on the line, and some more.
const BYTE: u64 = 10 * CLOCK_HZ / BAUD as u64 + 7;

/// A board with the pins in our hands.
struct Rig {
    board: Board,
    sender: BitSender,
    receiver: BitReceiver,
    decoder: Decoder,
    sequence: u8,
}

impl Rig {
    fn new(speed: f64) -> Self {
        let baud = f64::from(BAUD) * speed;
        Self {
            board: Board::new(1).expect("a board"),
            sender: BitSender::new(baud),
            receiver: BitReceiver::new(baud),
            decoder: Decoder::default(),
            sequence: 0,
        }
    }

    /// One clock; `flip` turns the line over.
    fn clock(&mut self, flip: bool) -> Option<Vec<u8>> {
        let level = self.sender.clock() ^ flip;
        let tx = self.board.clock(level).expect("no assertion fails");
        match self.receiver.clock(tx) {
            Some(byte) => self.decoder.push(byte.expect("a stop bit")),
            None => None,
        }
    }

    /// Sends bytes, each with its stop bit, and returns the frames that come until `wait` clocks after
    /// the last byte.
    fn bits(&mut self, bytes: &[(u8, bool)], wait: u64) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        for &(byte, stop) in bytes {
            while !self.sender.is_free() {
                frames.extend(self.clock(false));
            }
            self.sender.give(byte, stop);
        }
        for _ in 0..wait {
            frames.extend(self.clock(false));
        }
        frames
    }

    fn bytes(&mut self, bytes: &[u8], wait: u64) -> Vec<Vec<u8>> {
        let bytes: Vec<_> = bytes.iter().map(|byte| (*byte, true)).collect();
        self.bits(&bytes, wait)
    }

    /// Sends a frame; its only answer.
    fn talk(&mut self, content: &[u8]) -> Option<Vec<u8>> {
        let mut frames = self.bytes(&encode(content), 2000);
        // A long answer takes its time.
        for _ in 0..2 * BYTE * 1100 {
            if !frames.is_empty() {
                break;
            }
            frames.extend(self.clock(false));
        }
        assert!(frames.len() <= 1, "more than one answer: {frames:02x?}");
        frames.pop()
    }

    fn hello(&mut self) {
        let reply = self.talk(&[self.sequence, op::HELLO, 1, 2, 3, 4]);
        let reply = reply.expect("an answer to hello");
        assert_eq!(reply[..6], [self.sequence, status::OK, 1, 2, 3, 4]);
        assert_eq!(reply.len(), 6 + gen::IDENT_BYTES);
        // The hardware is made for the clock and the line that it gets here.
        for ((first, bytes), due) in [(ident::CLOCK_HZ, CLOCK_HZ), (ident::BAUD, BAUD.into())] {
            let field = reply[6 + first..6 + first + bytes].iter().rev();
            let value = field.fold(0, |value, byte| value << 8 | u64::from(*byte));
            assert_eq!(value, due);
        }
    }

    /// The next frame with these operations; its answer without the number.
    fn next(&mut self, ops: &[u8]) -> Option<Vec<u8>> {
        self.sequence = self.sequence.wrapping_add(1);
        self.again(ops)
    }

    /// The last number again.
    fn again(&mut self, ops: &[u8]) -> Option<Vec<u8>> {
        let mut content = vec![self.sequence];
        content.extend(ops);
        let reply = self.talk(&content)?;
        assert_eq!(reply[0], self.sequence);
        Some(reply[1..].to_vec())
    }

    /// Counters: good, bad, late, repeated, strange.
    fn counters(&mut self) -> [u16; 5] {
        let reply = self.next(&[op::STATUS]).expect("a status");
        assert_eq!(reply.len(), 1 + gen::answer(op::STATUS));
        assert_eq!(reply[0], status::OK);
        std::array::from_fn(|n| u16::from_le_bytes([reply[2 + 2 * n], reply[3 + 2 * n]]))
    }
}

fn write_mem(offset: u32, data: &[u8]) -> Vec<u8> {
    let mut ops = vec![op::WRITE_MEM];
    ops.extend(&offset.to_le_bytes()[..3]);
    ops.push(data.len() as u8);
    ops.extend(data);
    ops
}

fn read_mem(offset: u32, bytes: usize) -> Vec<u8> {
    let mut ops = vec![op::READ_MEM];
    ops.extend(&offset.to_le_bytes()[..3]);
    ops.push(bytes as u8);
    ops
}

/// A line that is 2 % too fast or too slow, with every value of a byte, at the clock of the bitstream.
#[test]
fn the_line_may_be_off_by_two_percent() {
    let all: Vec<u8> = (0..=255).collect();
    for speed in [0.98, 0.99, 1.0, 1.01, 1.02] {
        let mut rig = Rig::new(speed);
        rig.hello();
        let written = rig.next(&write_mem(0x123, &all));
        assert_eq!(written, Some(vec![status::OK]), "speed {speed}");
        let read = rig.next(&read_mem(0x123, 256)).expect("an answer");
        assert_eq!(read[0], status::OK);
        assert_eq!(read[1..], all, "speed {speed}");
        assert_eq!(rig.counters()[1..], [0; 4], "speed {speed}");
    }
    // The judge is awake: what is far off is not understood.
    for speed in [0.93, 1.07] {
        let mut rig = Rig::new(speed);
        assert_eq!(rig.talk(&[0, op::HELLO, 1, 2, 3, 4]), None, "speed {speed}");
    }
}

#[test]
fn memory_is_written_byte_by_byte_and_its_end_is_guarded() {
    let mut rig = Rig::new(1.0);
    rig.hello();
    let fill = |offset: u32, lines: u16, byte: u8| {
        let mut ops = vec![op::FILL];
        ops.extend(&offset.to_le_bytes()[..3]);
        ops.extend(lines.to_le_bytes());
        ops.push(byte);
        ops
    };
    assert_eq!(rig.next(&fill(0, 8192, 0x5a)), Some(vec![status::OK]));
    assert_eq!(rig.next(&fill(0x40, 2, 7)), Some(vec![status::OK]));
    let both = [write_mem(0x45, &[1, 2]), read_mem(0x3f, 34)].concat();
    let reply = rig.next(&both).expect("an answer");
    let mut due = vec![status::OK, status::OK, 0x5a];
    due.extend([7; 32]);
    due.push(0x5a);
    due[3 + 5..3 + 7].copy_from_slice(&[1, 2]);
    assert_eq!(reply, due);
    // The last byte, and one more.
    assert_eq!(
        rig.next(&read_mem(0x1_ffff, 1)),
        Some(vec![status::OK, 0x5a])
    );
    for ops in [
        read_mem(0x1_ffff, 2),
        write_mem(0x2_0000, &[1]),
        fill(0x1_fff0, 2, 0),
        fill(8, 1, 0),
    ] {
        assert_eq!(rig.next(&ops), Some(vec![status::RANGE]), "{ops:02x?}");
    }
    // What stands behind a refused operation is not done.
    let ops = [read_mem(0x1_ffff, 2), write_mem(0, &[9])].concat();
    assert_eq!(rig.next(&ops), Some(vec![status::RANGE]));
    assert_eq!(rig.next(&read_mem(0, 1)), Some(vec![status::OK, 0x5a]));
}

#[test]
fn what_is_malformed_is_refused() {
    let mut rig = Rig::new(1.0);
    rig.hello();
    assert_eq!(rig.next(&[0]), Some(vec![status::BAD_OP]));
    assert_eq!(rig.next(&[200, 1, 2]), Some(vec![status::BAD_OP]));
    assert_eq!(rig.next(&[op::READ_MEM, 1, 2]), Some(vec![status::SHORT]));
    let short = &write_mem(0, &[1, 2, 3])[..6];
    assert_eq!(rig.next(short), Some(vec![status::SHORT]));
    assert_eq!(rig.next(&[op::DONE, 2, 0, 0]), Some(vec![status::RANGE]));
    assert_eq!(rig.next(&[op::RESPONSES, 0, 33]), Some(vec![status::RANGE]));
    // Answers that do not fit into a reply: three of 257 bytes do, the fourth does not.
    let ops = [0; 4].map(|_| read_mem(0, 256)).concat();
    let reply = rig.next(&ops).expect("an answer");
    assert_eq!((reply.len(), reply[3 * 257]), (3 * 257 + 1, status::ROOM));
    // A register that is not there, one that is, and one that cannot be.
    let id = rig.next(&[op::READ_CSR, 0, 0]).expect("an answer");
    assert_eq!((id.len(), id[0]), (5, status::OK));
    assert_eq!(
        rig.next(&[op::READ_CSR, 0xfc, 0x0f]).map(|r| r[0]),
        Some(status::BUS)
    );
    assert_eq!(
        rig.next(&[op::READ_CSR, 0, 0x10]),
        Some(vec![status::RANGE])
    );
    // An empty frame only shows that the board is there.
    let sequence = rig.sequence.wrapping_add(1);
    rig.sequence = sequence;
    assert_eq!(rig.talk(&[sequence]), Some(vec![sequence]));
    assert_eq!(rig.counters()[1..], [0; 4]);
}

/// A frame whose answer was lost is not done twice.
#[test]
fn a_repeated_frame_is_answered_again_and_not_done_again() {
    let mut rig = Rig::new(1.0);
    rig.hello();
    // The unit is disabled: one beat for each request.
    let mut request = vec![op::REQUEST, 1];
    request.extend([0; gen::REQ_BYTES]);
    for _ in 0..3 {
        let first = rig.next(&request);
        assert_eq!(first, Some(vec![status::OK]));
        for _ in 0..2 {
            assert_eq!(rig.again(&request), first);
        }
    }
    let beats = rig.next(&[op::RESPONSES, 1, 20]).expect("an answer");
    assert_eq!(beats.len(), 2 + 3 * (1 + gen::RSP_BYTES), "{beats:02x?}");
    // Taken once, they stay in the reply however often it is asked for.
    assert_eq!(rig.again(&[op::RESPONSES, 1, 20]), Some(beats));
    assert_eq!(rig.next(&[op::RESPONSES, 1, 20]), Some(vec![status::OK, 0]));
    assert_eq!(rig.counters()[3], 7);
}

#[test]
fn a_frame_out_of_order_ends_the_session() {
    let mut rig = Rig::new(1.0);
    // Nothing is done before hello.
    assert_eq!(rig.again(&read_mem(0, 1)), Some(vec![status::SEQUENCE]));
    rig.hello();
    assert_eq!(rig.next(&write_mem(0, &[1])), Some(vec![status::OK]));
    rig.sequence = rig.sequence.wrapping_add(5);
    assert_eq!(rig.again(&write_mem(0, &[2])), Some(vec![status::SEQUENCE]));
    // The right number does not help any more, a new session does.
    assert_eq!(rig.next(&write_mem(0, &[3])), Some(vec![status::SEQUENCE]));
    rig.hello();
    assert_eq!(rig.next(&read_mem(0, 1)), Some(vec![status::OK, 1]));
    // Hello is never taken for a repetition.
    rig.hello();
    rig.hello();
}

/// Whatever happens to a frame, it is dropped as a whole, counted once, and the next one is good.
#[test]
fn damaged_frames_are_dropped_and_counted() {
    let mut rig = Rig::new(1.0);
    rig.hello();
    let ops = write_mem(0x10, &[0x11, 0x7e, 0x7d, 0x5e]);
    let mut bad = 0;
    let mut check = |rig: &mut Rig, what: &str, line: &[(u8, bool)]| {
        assert!(rig.bits(line, 4000).is_empty(), "{what}: an answer");
        bad += 1;
        assert_eq!(rig.counters()[1], bad, "{what}");
    };
    let frame = |rig: &Rig| {
        let mut content = vec![rig.sequence.wrapping_add(1)];
        content.extend(&ops);
        let line: Vec<_> = encode(&content).into_iter().map(|b| (b, true)).collect();
        line
    };
    for place in 1..frame(&rig).len() - 1 {
        let mut line = frame(&rig);
        line[place].0 ^= 0x04;
        check(&mut rig, "a flipped bit", &line);
        let mut line = frame(&rig);
        line.remove(place);
        check(&mut rig, "a lost byte", &line);
    }
    let mut line = frame(&rig);
    line.insert(4, (0, true));
    check(&mut rig, "a byte too many", &line);
    let mut line = frame(&rig);
    line[5].1 = false;
    check(&mut rig, "a byte without stop bit", &line);
    let long: Vec<_> = std::iter::once(0x7e)
        .chain((0..1500).map(|n| n as u8 & 0x3f))
        .chain([0x7e])
        .map(|byte| (byte, true))
        .collect();
    check(&mut rig, "a frame that is too long", &long);
    // Half a frame, and then silence for longer than 2^20 clocks.
    let line = frame(&rig);
    rig.bits(&line[..6], (1 << 20) + 4000);
    check(&mut rig, "silence", &[]);
    // None of it was done.
    assert_eq!(rig.next(&ops), Some(vec![status::OK]));
    assert_eq!(
        rig.next(&read_mem(0x10, 4)),
        Some(vec![status::OK, 0x11, 0x7e, 0x7d, 0x5e])
    );
}

/// Frames without a pause between them: each is done or counted as late, and can be sent again.
#[test]
fn frames_back_to_back_are_done_or_dropped_as_a_whole() {
    let mut rig = Rig::new(1.0);
    rig.hello();
    for n in 0..8u8 {
        let first = rig.sequence.wrapping_add(1);
        let second = first.wrapping_add(1);
        // The first one takes longer and longer.
        let mut one = vec![first];
        for _ in 0..n {
            one.extend(read_mem(0, 100));
        }
        let mut two = vec![second];
        two.extend(write_mem(u32::from(n), &[n ^ 0x55]));
        let line = [encode(&one), encode(&two)].concat();
        let frames = rig.bytes(&line, 2000 + 110 * 2 * BYTE * u64::from(n));
        assert_eq!(frames[0].len(), 1 + 101 * usize::from(n));
        assert_eq!(frames[0][0], first);
        rig.sequence = second;
        let done = vec![second, status::OK];
        assert!(
            frames[1..].is_empty() || frames[1..] == [done.clone()],
            "{frames:02x?}"
        );
        assert_eq!(rig.talk(&two), Some(done));
        let read = rig.next(&read_mem(n.into(), 1));
        assert_eq!(read, Some(vec![status::OK, n ^ 0x55]));
    }
    assert_eq!(rig.counters()[1], 0);
}

/// Noise on the wire itself: needles of a clock do nothing, longer ones damage frames; no answer is
/// ever wrong.
#[test]
fn needles_on_the_wire() {
    let seed: u64 = 0x7e57_0001;
    println!("seed {seed:#x}");
    let mut random = seed;
    let mut below = move |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) % n
    };
    let mut rig = Rig::new(1.0);
    rig.hello();
    for (width, may_fail) in [(1, false), (20, true)] {
        let mut lost = 0;
        for n in 0..60u8 {
            let data: Vec<u8> = (0..16).map(|_| below(256) as u8).collect();
            let mut content = vec![rig.sequence.wrapping_add(1)];
            content.extend(write_mem(0x200, &data));
            content.extend(read_mem(0x200, 16));
            let line = encode(&content);
            let at = below(line.len() as u64 * (BYTE - 7));
            let mut frames = Vec::new();
            let mut clock = 0;
            for byte in line {
                while !rig.sender.is_free() {
                    frames.extend(rig.clock((at..at + width).contains(&clock)));
                    clock += 1;
                }
                rig.sender.give(byte, true);
            }
            for _ in 0..60 * BYTE {
                frames.extend(rig.clock(false));
            }
            let mut due = vec![content[0], status::OK, status::OK];
            due.extend(&data);
            match frames.len() {
                0 => {
                    assert!(may_fail, "frame {n}: a needle of one clock");
                    lost += 1;
                }
                _ => {
                    assert_eq!(frames, [due], "frame {n}");
                    rig.sequence = content[0];
                }
            }
        }
        println!("needles of {width} clocks: {lost} of 60 frames lost");
        assert!(may_fail == (lost > 0), "{lost} lost");
    }
}

// -- The whole command ---------------------------------------------------------------------------

fn tpt(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tpt"))
        .args(["board", "--port"])
        .args(arguments)
        .output()
        .expect("tpt runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every refused kind must have come: numbers of the rules, and the others.
fn assert_all_kinds(json: &serde_json::Value) {
    let refused = json["by_syndrome"].as_object().expect("syndromes");
    for name in [
        "KEY_INDEX",
        "KEY_STATE",
        "KEY_TAG",
        "PD",
        "QP",
        "RIGHTS",
        "WRAP",
        "BOUNDS",
        "ALIGN",
        "LENGTH",
        "MTT_ABSENT",
        "MTT_BAD",
        "BUS",
        "MPT_BAD",
        "DISABLED",
        "TAG_BUSY",
    ] {
        assert!(
            refused.contains_key(name),
            "{name} is missing in {refused:?}"
        );
    }
}

#[test]
fn the_simulated_board_agrees_in_everything() {
    let out = tpt(&["sim", "--json", "-"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(json["mismatches"], 0);
    assert_eq!(json["frames_damaged"], 0);
    assert_all_kinds(&json);
}

#[test]
fn noise_is_overcome_by_sending_again() {
    let out = tpt(&[
        "sim",
        "--requests",
        "80",
        "--noise",
        "flip=400,drop=400",
        "--json",
        "-",
    ]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(json["mismatches"], 0);
    assert!(json["frames_repeated"].as_u64() > Some(0), "{json}");
}

#[test]
fn a_port_that_goes_away_is_an_error() {
    let out = tpt(&["sim", "--requests", "80", "--noise", "unplug=20000"]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stdout));
    let error = text(&out.stderr);
    assert!(error.contains("the port has gone"), "{error}");
}

#[test]
fn bad_ports_and_options_are_errors() {
    for (arguments, expected) in [
        (&["/dev/null"][..], "cannot be set"),
        (&["/nowhere/tty"][..], "cannot be opened"),
        (
            &["/dev/null", "--noise", "flip=1"][..],
            "no simulated board",
        ),
        (&["sim", "--noise", "flop=1"][..], "expected a list"),
        (&["sim", "--baud", "3000000"][..], "--baud"),
        (&["sim", "--requests", "0"][..], "--requests"),
    ] {
        let out = tpt(arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        let error = text(&out.stderr);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

fn small_scenario() -> parse::Scenario {
    let text = "[unit]\ntable = 16\n[region a]\ncount = 2\nsize = 64 KiB\npage = 4 KiB\n\
                [traffic t]\nrequests = 40\nsizes = 1..4KiB\n";
    let lines = tpt::input::Lines::from_reader("test", text.as_bytes()).expect("lines");
    parse::read(lines).expect("a scenario")
}

fn session(board: &std::sync::Arc<SimBoard>, nonce: u32) -> Result<run::RunReport, String> {
    session_on(
        Box::new(SimPort::open(board).map_err(|e| e.to_string())?),
        nonce,
    )
}

fn session_on(line: Box<dyn Line>, nonce: u32) -> Result<run::RunReport, String> {
    let link = Link::start(line, BAUD, nonce).map_err(|e| e.to_string())?;
    let options = BoardOptions {
        seed: u64::from(nonce),
        table: 16,
        fence_time: 0,
    };
    let mut target = BoardTarget::board(link, options).map_err(|e| e.to_string())?;
    run::run(&mut target, &small_scenario(), nonce.into(), &mut |_| {})
        .map_err(|(_, error)| error.to_string())
}

/// Pulled in the middle of a run: an error that says so; the next run on the same board is clean.
#[test]
fn a_pulled_cable_ends_the_run_and_the_next_one_is_clean() {
    let noise = Noise {
        pull: Some((8_000, 60_000)),
        ..Noise::default()
    };
    let board = SimBoard::start(5, noise).expect("a board");
    let error = session(&board, 5).expect_err("the line is dead");
    assert!(error.contains("does not answer any more"), "{error}");
    // While it is out nobody answers; afterwards everything is as new.
    let report = (0..40).find_map(|n| session(&board, 6 + n).ok());
    let report = report.expect("a run after the cable is back");
    assert_eq!(report.mismatch_count, 0);
    assert!(report.operations.accepted > 0);
}

/// A line whose board does not take `done` so many times, when a frame begins with one.
struct Busy {
    inner: SimPort,
    left: Rc<Cell<u32>>,
    from_host: Decoder,
    from_board: Decoder,
    /// Number of a frame that is answered BUSY.
    busy: Option<u8>,
}

impl Line for Busy {
    fn send(&mut self, bytes: &[u8]) -> Result<(), LineError> {
        let frame = bytes.iter().find_map(|byte| self.from_host.push(*byte));
        let frame = frame.filter(|f| f.get(1) == Some(&op::DONE) && self.left.get() > 0);
        self.busy = frame.as_ref().map(|frame| frame[0]);
        match frame {
            // The board sees an empty frame: nothing is done.
            Some(frame) => {
                self.left.set(self.left.get() - 1);
                self.inner.send(&encode(&frame[..1]))
            }
            None => self.inner.send(bytes),
        }
    }
    fn receive(&mut self, to: &mut Vec<u8>) -> Result<(), LineError> {
        let mut got = Vec::new();
        self.inner.receive(&mut got)?;
        let Some(number) = self.busy else {
            to.extend(got);
            return Ok(());
        };
        let frames = got.iter().filter_map(|byte| self.from_board.push(*byte));
        if frames.last().is_some_and(|frame| frame == [number]) {
            self.busy = None;
            to.extend(encode(&[number, status::BUSY]));
        }
        Ok(())
    }
    fn now(&self) -> std::time::Duration {
        self.inner.now()
    }
    fn turnaround(&self) -> std::time::Duration {
        self.inner.turnaround()
    }
}

/// A `done` that is not taken is given again, for a while.
#[test]
fn a_done_that_is_not_taken_is_given_again() {
    for (times, good) in [(20, true), (u32::MAX, false)] {
        let left = Rc::new(Cell::new(times));
        let board = SimBoard::start(7, Noise::default()).expect("a board");
        let line = Busy {
            inner: SimPort::open(&board).expect("a port"),
            left: left.clone(),
            from_host: Decoder::default(),
            from_board: Decoder::default(),
            busy: None,
        };
        match session_on(Box::new(line), 7) {
            Ok(report) => assert!(good && report.mismatch_count == 0 && left.get() == 0),
            Err(error) => assert!(!good && error.contains("was not taken"), "{error}"),
        }
    }
}

/// A run that ends in the middle, without a word to the board.
#[test]
fn a_host_that_goes_away_does_no_harm() {
    let board = SimBoard::start(3, Noise::default()).expect("a board");
    for nonce in [1, 2] {
        let line: Box<dyn Line> = Box::new(SimPort::open(&board).expect("a port"));
        let mut link = Link::start(line, BAUD, nonce).expect("a session");
        let mut batch = Batch::default();
        // Requests whose answers nobody takes.
        for _ in 0..12 {
            batch.request(0, &[0; gen::REQ_BYTES]);
        }
        let replies = link.run(&batch).expect("replies");
        assert!(replies.contains(&Reply::Done(vec![])));
    }
    let report = session(&board, 4).expect("a clean run");
    assert_eq!(report.mismatch_count, 0);
}

/// Nobody at the other end, somebody else, and a board that is in use.
#[test]
fn a_line_without_a_board() {
    struct Silent(u64);
    impl Line for Silent {
        fn send(&mut self, _: &[u8]) -> Result<(), LineError> {
            Ok(())
        }
        fn receive(&mut self, to: &mut Vec<u8>) -> Result<(), LineError> {
            self.0 += 1;
            to.extend(b"login: \x7e\x7e");
            Ok(())
        }
        fn now(&self) -> std::time::Duration {
            std::time::Duration::from_millis(self.0)
        }
        fn turnaround(&self) -> std::time::Duration {
            std::time::Duration::from_millis(5)
        }
    }
    match Link::start(Silent(0), BAUD, 1) {
        Err(error @ LinkError::NoBoard { .. }) => {
            assert!(error.to_string().contains("right port"), "{error}")
        }
        other => panic!("{:?}", other.map(|_| "a board").map_err(|e| e.to_string())),
    }
    let board = SimBoard::start(3, Noise::default()).expect("a board");
    let _mine = SimPort::open(&board).expect("a port");
    let second = SimPort::open(&board).expect_err("it is in use");
    assert!(second.to_string().contains("in use"), "{second}");
}

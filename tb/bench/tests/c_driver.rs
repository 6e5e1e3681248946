// SPDX-License-Identifier: Apache-2.0
//! The C driver (`include/tpt_driver.h`) on the Verilated unit: a program in C runs as a process of
//! its own, and says each access to a register or to memory in a line; here it is done. Then the
//! driver alone: faults of a unit in software, entries of encoding CHECKED beside those of the
//! golden codec and of the Rust driver, and the C of docs/driver.md.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{mpsc, Arc};
use std::time::Duration;

use tpt_bench::rng::Rng;
use tpt_bench::{Bench, BenchError, BenchOptions, CommandExtra};
use tpt_driver::mtt::{self, MttError};
use tpt_golden::codec::{Mtt, Place};
use tpt_golden::frames::{Page, PagedList};
use tpt_golden::mem::PhysMem;
use tpt_golden::types::{Encoding, Key, Op, Request};

/// Longer than the program ever thinks.
const SILENCE: Duration = Duration::from_secs(30);
/// Accesses after which something hangs.
const MOST: usize = 100_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The compiler with the strictest warnings.
fn compiler(standard: &str) -> Command {
    let named = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut words = named.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    command.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    command.arg("-I").arg(folder().join("include"));
    command
}

/// Compiles a program of `tests/c`, under a name of its own: tests run side by side.
fn compile(source: &str, name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = compiler("-std=c11");
    command.arg("-o").arg(&program);
    command.arg(folder().join("tb/bench/tests/c").join(source));
    let out = command
        .output()
        .expect("a C compiler: cc, or what CC names");
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.is_empty(), "{text}");
    program
}

/// The process, which ends with the test.
struct Program {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Program {
    fn start(path: &Path) -> Self {
        let mut child = Command::new(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let (send, lines) = mpsc::channel();
        let output = child.stdout.take().expect("its output");
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    fn line(&self) -> String {
        let line = self.lines.recv_timeout(SILENCE);
        line.expect("the program says nothing any more")
    }

    fn answer(&mut self, text: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        writeln!(input, "{text}").expect("the program listens");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn number(word: Option<&str>) -> u64 {
    let word = word.expect("a number");
    u64::from_str_radix(word, 16).unwrap_or_else(|_| panic!("no number: {word}"))
}

/// Serves the program to its end. Returns its last words, and how many accesses there were of a kind.
fn serve(program: &mut Program, bench: &mut Bench, mem: &mut PhysMem) -> (String, [usize; 6]) {
    let mut counts = [0; 6];
    let list = Arc::new(PagedList::new(12));
    let read = |key: u64, va: u64| Request {
        op: Op::RemoteRead.code(),
        key: Key(key as u32),
        va,
        len: 8,
        pd: 0x2a,
        qpn: 0x77,
        ..Request::default()
    };
    for _ in 0..MOST {
        let line = program.line();
        let mut words = line.split(' ');
        let kind = words.next().unwrap_or("");
        if let Some(place) = "rwlsik".find(kind).filter(|_| kind.len() == 1) {
            counts[place] += 1;
        }
        let refused = |done: Result<String, BenchError>| match done {
            Ok(text) => text,
            Err(BenchError::Register { .. }) => "!".into(),
            Err(error) => panic!("{error}"),
        };
        let text = match kind {
            "r" => {
                let value = bench.host_read(mem, number(words.next()) as u16);
                refused(value.map(|value| format!("{value:x}")))
            }
            "w" => {
                let (offset, value) = (number(words.next()), number(words.next()));
                let done = bench.host_write(mem, offset as u16, value as u32);
                refused(done.map(|()| ".".into()))
            }
            "l" => {
                let (address, bytes) = (number(words.next()), number(words.next()));
                let mut data = vec![0; bytes as usize];
                mem.read(address, &mut data);
                data.iter().map(|byte| format!("{byte:02x}")).collect()
            }
            "s" => {
                let address = number(words.next());
                let hex = words.next().expect("data");
                let byte = |n: usize| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16);
                let data: Result<Vec<u8>, _> = (0..hex.len() / 2).map(byte).collect();
                mem.write(address, &data.expect("hexadecimal"));
                ".".into()
            }
            "i" => {
                bench.run(mem, 4).expect("clocks");
                ".".into()
            }
            "k" => {
                let (key, va) = (number(words.next()), number(words.next()));
                let outcome = bench.access(mem, 0, read(key, va));
                let outcome = outcome.expect("the bench agrees");
                outcome.syndrome.code().to_string()
            }
            "t" => {
                bench.expect_extra(CommandExtra {
                    pages: Some(list.clone()),
                    release: Vec::new(),
                });
                ".".into()
            }
            "p" => {
                let (page, pa) = (number(words.next()), number(words.next()));
                let there = match pa {
                    0 => Page::Absent,
                    pa => Page::at(pa),
                };
                list.set(page, there, bench.clock());
                ".".into()
            }
            "q" => {
                let (key, va) = (number(words.next()), number(words.next()));
                bench.issue(1, read(key, va));
                ".".into()
            }
            "a" => match bench.poll_client(1) {
                Some(outcome) => outcome.syndrome.code().to_string(),
                None => "-".into(),
            },
            "e" => return (line[2..].to_owned(), counts),
            _ => panic!("what is {line:?}?"),
        };
        program.answer(&text);
    }
    panic!("the program does not end");
}

/// The program that speaks through a pipe, and a unit for it.
fn pipe(name: &str) -> (Program, Bench, PhysMem) {
    let program = Program::start(&compile("driver_pipe.c", name));
    let mut mem = PhysMem::new();
    let bench = Bench::new(&mut mem, BenchOptions::default()).expect("a model");
    (program, bench, mem)
}

fn run() -> (String, [usize; 6], Bench) {
    let (mut program, mut bench, mut mem) = pipe("driver_pipe");
    let (words, counts) = serve(&mut program, &mut bench, &mut mem);
    let code = program.child.wait().expect("its end").code();
    assert_eq!(code, Some(if words == "ok" { 0 } else { 1 }));
    (words, counts, bench)
}

#[test]
fn a_c_program_drives_the_unit() {
    let (words, [reads, writes, loads, stores, _, keys], bench) = run();
    assert_eq!(words, "ok");
    // Three rounds of eight commands: a doorbell each, and one for each completion.
    assert!(
        writes > 2 * 24 && reads > 10,
        "{writes} writes, {reads} reads"
    );
    assert!(
        loads >= 24 && stores >= 24 * 8,
        "{loads} loads, {stores} stores"
    );
    assert_eq!(keys, 19, "keys that were tried");
    assert_eq!(bench.stats.mismatches, 0);
    assert_eq!(bench.faults_told(), 3);
    assert_eq!(bench.stats.by_status.iter().sum::<u64>(), 24 + 7);
}

/// The header alone is clean in C and in C++.
#[test]
fn the_header_compiles_alone() {
    for (language, standard) in [("c", "-std=c11"), ("c++", "-std=c++17")] {
        let mut command = compiler(standard);
        command.args(["-fsyntax-only", "-x", language]);
        command.arg(folder().join("include/tpt_driver.h"));
        let out = command
            .output()
            .expect("a C compiler: cc, or what CC names");
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{language}: {text}");
    }
}

/// A wrong phase is not taken for a completion: the wait ends, and the program says so.
#[test]
fn a_program_without_completions_gives_up() {
    let (mut program, mut bench, mut mem) = pipe("driver_pipe_deaf");
    let mut loads = 0;
    loop {
        let line = program.line();
        let mut words = line.split(' ');
        let text = match words.next() {
            // Registers of a unit that is ready but takes no command.
            Some("r") => match number(words.next()) as u16 {
                tpt_golden::regs::STATUS if loads == 0 && bench.clock() < 100 => "0".to_owned(),
                offset => match bench.host_read(&mut mem, offset) {
                    Ok(value) => format!("{value:x}"),
                    Err(_) => "!".to_owned(),
                },
            },
            Some("w") => {
                let (offset, value) = (number(words.next()), number(words.next()));
                match offset as u16 {
                    tpt_golden::regs::CMDQ_TAIL => ".".to_owned(),
                    offset => match bench.host_write(&mut mem, offset, value as u32) {
                        Ok(()) => ".".to_owned(),
                        Err(_) => "!".to_owned(),
                    },
                }
            }
            Some("l") => {
                loads += 1;
                "00".repeat(128)
            }
            Some("i") => {
                if loads == 0 {
                    bench.run(&mut mem, 4).expect("clocks");
                }
                ".".to_owned()
            }
            Some("s") => ".".to_owned(),
            Some("e") => {
                assert_eq!(line, "e failed: no completion (0)");
                break;
            }
            _ => panic!("what is {line:?}?"),
        };
        program.answer(&text);
    }
    assert_eq!(loads, 10_000);
}

/// What a program says that reads its input first.
fn filter(program: &Path, input: &str) -> Output {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut to = child.stdin.take().expect("its input");
    let text = input.to_owned();
    let writer = std::thread::spawn(move || to.write_all(text.as_bytes()));
    let out = child.wait_with_output().expect("its end");
    let written = writer.join().expect("the writer ends");
    written.expect("the program reads all");
    out
}

/// Starts that fail, ids, barriers, limits: a unit in software that does what the program tells it.
#[test]
fn the_driver_alone_meets_faults() {
    let out = filter(&compile("driver_faults.c", "driver_faults"), "");
    assert_eq!(String::from_utf8_lossy(&out.stdout), "ok\n");
    assert!(out.status.success());
}

/// A number of at most so many bits: the lengths of numbers are as likely as each other.
fn bits(rng: &mut Rng, most: u32) -> u64 {
    match rng.below(u64::from(most) + 1) {
        0 => 0,
        bits => rng.next_u64() >> (64 - bits),
    }
}

/// Entries of encoding CHECKED: the C driver, the Rust driver and the golden codec make the same,
/// over the full width of addresses and places; and both drivers refuse the same.
#[test]
fn checked_entries_are_those_of_the_golden_codec() {
    let mut rng = Rng::new(0x5eed_c4ec);
    let mut cases = Vec::new();
    for n in 0..20_000 {
        // Every fourth has one value that is too wide or no page.
        let spoilt = match n % 4 {
            0 => n / 4 % 6,
            _ => usize::MAX,
        };
        let wide = |rng: &mut Rng, width: u32, of: u32| {
            1 << (width + rng.below((of - width).into()) as u32)
        };
        let mut address = (bits(&mut rng, 40).max(1)) << 12;
        let mut index = bits(&mut rng, 23);
        let mut number = bits(&mut rng, 40);
        let mut level = bits(&mut rng, 3);
        match spoilt {
            0 => index |= wide(&mut rng, 23, 32),
            1 => number |= wide(&mut rng, 40, 64),
            2 => level |= wide(&mut rng, 3, 8),
            3 => address |= wide(&mut rng, 52, 64),
            4 => address |= 1 << rng.below(12),
            5 => address = 0,
            _ => {}
        }
        let place = mtt::Place {
            index: index as u32,
            number,
            level: level as u8,
        };
        cases.push((address, rng.chance(1, 2), place, spoilt != usize::MAX));
    }
    // The ends of every field.
    for end in [0, u64::MAX] {
        let place = mtt::Place {
            index: (end & 0x7f_ffff) as u32,
            number: end & 0xff_ffff_ffff,
            level: (end & 7) as u8,
        };
        for address in [0x1000, 0x000f_ffff_ffff_f000] {
            cases.push((address, end != 0, place, false));
        }
    }
    let lines = cases.iter().map(|(address, writable, place, _)| {
        let mtt::Place {
            index,
            number,
            level,
        } = place;
        let writable = u8::from(*writable);
        format!("{address:x} {writable:x} {index:x} {number:x} {level:x}\n")
    });
    let input: String = lines.collect();
    let out = filter(&compile("checked_entries.c", "checked_entries"), &input);
    let text = String::from_utf8(out.stdout).expect("numbers");
    assert_eq!(text.lines().count(), cases.len());
    let mut refused = 0;
    for (said, (address, writable, place, spoilt)) in text.lines().zip(cases) {
        let made = mtt::checked_entry(address, writable, place);
        if spoilt {
            assert!(
                matches!(
                    made,
                    Err(MttError::CheckedAddress { .. } | MttError::Place { .. })
                ),
                "{address:#x} {place:?}: {made:?}"
            );
            assert_eq!(said, "-14", "{address:#x} {place:?}");
            refused += 1;
            continue;
        }
        let golden = Place {
            index: place.index,
            number: place.number,
            level: place.level,
        };
        let page = Mtt {
            pa: address,
            writable,
        };
        let entry = page.encode(Encoding::Checked, golden);
        assert_eq!(made, Ok(entry), "{address:#x} {writable} {place:?}");
        assert_eq!(
            said,
            format!("{entry:x}"),
            "{address:#x} {writable} {place:?}"
        );
    }
    assert_eq!(refused, 5_000);
}

/// The C of the guide compiles as it stands there, and looks at every result.
#[test]
fn the_c_of_the_guide_compiles() {
    let guide = std::fs::read_to_string(folder().join("docs/driver.md")).expect("docs/driver.md");
    let blocks: Vec<&str> = guide
        .split("```c\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(blocks.len(), 3);
    let text = format!("#include \"tpt_driver.h\"\n\n{}", blocks.join("\n"));
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide.c");
    std::fs::write(&source, text).expect("a file");
    let mut command = compiler("-std=c11");
    // The functions are an example: nobody calls them here.
    command
        .args(["-Wno-unused-function", "-fsyntax-only"])
        .arg(source);
    let out = command
        .output()
        .expect("a C compiler: cc, or what CC names");
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.is_empty(), "{text}");
}

// SPDX-License-Identifier: Apache-2.0
//! The C driver (`include/tpt_driver.h`) on the Verilated unit: a program in C runs as a process of
//! its own, and says each access to a register or to memory in a line; here it is done.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{mpsc, Arc};
use std::time::Duration;

use tpt_bench::{Bench, BenchError, BenchOptions, CommandExtra};
use tpt_golden::frames::{Page, PagedList};
use tpt_golden::mem::PhysMem;
use tpt_golden::types::{Key, Op, Request};

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

fn compile(source: &Path, name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = compiler("-std=c11");
    command.arg("-o").arg(&program).arg(source);
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

fn run() -> (String, [usize; 6], Bench) {
    let source = folder().join("tb/bench/tests/c/driver_pipe.c");
    let mut program = Program::start(&compile(&source, "driver_pipe"));
    let mut mem = PhysMem::new();
    let mut bench = Bench::new(&mut mem, BenchOptions::default()).expect("a model");
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
    let source = folder().join("tb/bench/tests/c/driver_pipe.c");
    let mut program = Program::start(&compile(&source, "driver_pipe_deaf"));
    let mut mem = PhysMem::new();
    let mut bench = Bench::new(&mut mem, BenchOptions::default()).expect("a model");
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

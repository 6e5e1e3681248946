// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What the tests share.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files of a folder of recordings, in order.
pub fn recordings(folder: &str) -> Vec<PathBuf> {
    let path = root().join("data").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&path)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        .map(|e| e.unwrap_or_else(|e| panic!("{e}")).path())
        .filter(|p| p.extension().is_some_and(|e| e == "gz"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no recordings in {}", path.display());
    files
}

/// A recording with this name.
pub fn recording(name: &str) -> PathBuf {
    let path = root().join("data").join(format!("{name}.jsonl.gz"));
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// Lines of a recording.
pub fn lines(path: &Path) -> Vec<String> {
    let mut lines = tpt::input::Lines::open(path).unwrap_or_else(|e| panic!("{e}"));
    let mut out = Vec::new();
    while let Some((_, text)) = lines.next_line().unwrap_or_else(|e| panic!("{e}")) {
        out.push(text);
    }
    out
}

/// A file of its own for a test.
pub fn temporary(name: &str, content: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    path
}

/// Runs the command.
pub fn tpt<I, S>(args: I) -> Output
where
    I: IntoIterator<Item = S>,
    S: AsRef<std::ffi::OsStr>,
{
    Command::new(env!("CARGO_BIN_EXE_tpt"))
        .args(args)
        .output()
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Standard output as text.
pub fn stdout(o: &Output) -> String {
    String::from_utf8_lossy(&o.stdout).into_owned()
}

/// Standard error as text.
pub fn stderr(o: &Output) -> String {
    String::from_utf8_lossy(&o.stderr).into_owned()
}

/// The last line of the standard output.
pub fn last_line(o: &Output) -> String {
    stdout(o).lines().last().unwrap_or_default().to_owned()
}

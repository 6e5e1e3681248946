// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Reading recordings: plain or gzip JSON lines, with errors that name the file, the line, what is
//! wrong and what would be right.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value};

/// Longest line that is read, in bytes. Longer ones are refused instead of filling memory.
pub const MAX_LINE: usize = 64 << 20;

/// Input that cannot be used: where, what is wrong, what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct BadInput {
    /// Name of the file as the user gave it.
    pub file: String,
    /// Line number, from 1; 0 when the whole file is meant.
    pub line: u64,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub expected: String,
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}; expected {}", self.what, self.expected)
    }
}

/// A place in a file, for error messages.
#[derive(Debug, Clone)]
pub struct Place {
    /// Name of the file as the user gave it.
    pub file: String,
    /// Line number, from 1.
    pub line: u64,
}

impl Place {
    /// An error at this place.
    pub fn bad(&self, what: impl Into<String>, expected: impl Into<String>) -> BadInput {
        BadInput {
            file: self.file.clone(),
            line: self.line,
            what: what.into(),
            expected: expected.into(),
        }
    }
}

/// A file read line by line. Gzip is recognised by its first two bytes, not by the name.
pub struct Lines {
    file: String,
    line: u64,
    reader: Box<dyn BufRead>,
    gzip: bool,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("file", &self.file)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl Lines {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, BadInput> {
        let file = path.display().to_string();
        let whole = |what: String, expected: &str| BadInput {
            file: path.display().to_string(),
            line: 0,
            what,
            expected: expected.into(),
        };
        if path.is_dir() {
            return Err(whole("is a folder".into(), "a file"));
        }
        let opened = File::open(path)
            .map_err(|e| whole(format!("cannot be opened ({e})"), "a file that can be read"))?;
        Self::from_reader(&file, opened)
            .map_err(|e| whole(format!("cannot be read ({e})"), "a file that can be read"))
    }

    /// Reads from anything; `file` is the name in error messages.
    pub fn from_reader(file: &str, mut reader: impl Read + 'static) -> io::Result<Self> {
        let mut head = Vec::with_capacity(2);
        reader.by_ref().take(2).read_to_end(&mut head)?;
        let gzip = head == [0x1f, 0x8b];
        let joined = Cursor::new(head).chain(reader);
        let reader: Box<dyn BufRead> = if gzip {
            Box::new(BufReader::with_capacity(
                1 << 16,
                MultiGzDecoder::new(joined),
            ))
        } else {
            Box::new(BufReader::with_capacity(1 << 16, joined))
        };
        Ok(Self {
            file: file.to_owned(),
            line: 0,
            reader,
            gzip,
        })
    }

    /// The next line that is not blank, with its place; `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<(Place, String)>, BadInput> {
        loop {
            self.line += 1;
            let place = Place {
                file: self.file.clone(),
                line: self.line,
            };
            let mut bytes = Vec::new();
            let got = self
                .reader
                .by_ref()
                .take(MAX_LINE as u64 + 1)
                .read_until(b'\n', &mut bytes);
            if let Err(e) = got {
                return Err(if self.gzip {
                    place.bad(
                        format!("the compressed data is damaged or ends early ({e})"),
                        "a complete gzip file",
                    )
                } else {
                    place.bad(format!("cannot be read ({e})"), "a file that can be read")
                });
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            if bytes.len() > MAX_LINE {
                return Err(place.bad(
                    format!("the line is longer than {MAX_LINE} bytes"),
                    "one JSON object per line",
                ));
            }
            if self.line == 1 && bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
                bytes.drain(..3);
            }
            let text = String::from_utf8(bytes).map_err(|e| {
                place.bad(
                    format!(
                        "byte {} of the line is not UTF-8",
                        e.utf8_error().valid_up_to() + 1
                    ),
                    "UTF-8 text",
                )
            })?;
            let text = text.trim();
            if !text.is_empty() {
                return Ok(Some((place, text.to_owned())));
            }
        }
    }

    /// The next line as a JSON object.
    pub fn next_object(&mut self) -> Result<Option<(Place, Object)>, BadInput> {
        let Some((place, text)) = self.next_line()? else {
            return Ok(None);
        };
        let object = Object::parse(&place, &text)?;
        Ok(Some((place, object)))
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }
}

/// The two kinds of recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Recorded verdicts, one case a line.
    Verdicts,
    /// A trace of a program, one event a line.
    Trace,
}

/// Tells the kind of a recording from its first object.
pub fn kind_of(place: &Place, first: &Object) -> Result<Kind, BadInput> {
    if first.has("ev") {
        Ok(Kind::Trace)
    } else if first.has("family") && first.has("op") {
        Ok(Kind::Verdicts)
    } else {
        Err(place.bad(
            "the first line is of no known kind",
            "an object with \"family\" and \"op\" (recorded verdicts) or with \"ev\" (a trace)",
        ))
    }
}

/// A JSON object with its path inside the line, for messages like `"op.sges[1].lkey" is missing`.
#[derive(Debug, Clone)]
pub struct Object {
    path: String,
    map: Map<String, Value>,
}

const NUMBER: &str = "a whole number from 0 to 2^64-1, or a string such as \"0x200000100000\"";

impl Object {
    /// Parses one line.
    pub fn parse(place: &Place, text: &str) -> Result<Self, BadInput> {
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(map)) => Ok(Self {
                path: String::new(),
                map,
            }),
            Ok(other) => Err(place.bad(
                format!("the line is {}", describe(&other)),
                "one JSON object per line",
            )),
            Err(e) => Err(place.bad(
                format!("the line is not JSON ({})", json_error(&e)),
                "one JSON object per line",
            )),
        }
    }

    /// Is the field there (null counts as absent)?
    pub fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|v| !v.is_null())
    }

    fn path(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    fn get<'a>(&'a self, p: &Place, name: &str, expected: &str) -> Result<&'a Value, BadInput> {
        match self.map.get(name) {
            Some(v) if !v.is_null() => Ok(v),
            _ => Err(p.bad(format!("\"{}\" is missing", self.path(name)), expected)),
        }
    }

    fn wrong(&self, p: &Place, name: &str, v: &Value, expected: &str) -> BadInput {
        p.bad(
            format!("\"{}\" is {}", self.path(name), describe(v)),
            expected,
        )
    }

    /// A number, given as a JSON number or as a string in hexadecimal (`0x`) or decimal.
    pub fn u64(&self, p: &Place, name: &str) -> Result<u64, BadInput> {
        let v = self.get(p, name, NUMBER)?;
        number(v).ok_or_else(|| self.wrong(p, name, v, NUMBER))
    }

    /// A number that must fit `bits` bits.
    pub fn bits(&self, p: &Place, name: &str, bits: u32) -> Result<u64, BadInput> {
        let expected = format!("a whole number of at most {bits} bits");
        let v = self.get(p, name, &expected)?;
        match number(v) {
            Some(n) if bits >= 64 || n >> bits == 0 => Ok(n),
            _ => Err(self.wrong(p, name, v, &expected)),
        }
    }

    /// A 32-bit number.
    pub fn u32(&self, p: &Place, name: &str) -> Result<u32, BadInput> {
        self.bits(p, name, 32).map(|v| v as u32)
    }

    /// A 32-bit number that may be absent.
    pub fn opt_u32(&self, p: &Place, name: &str) -> Result<Option<u32>, BadInput> {
        if self.has(name) {
            self.u32(p, name).map(Some)
        } else {
            Ok(None)
        }
    }

    /// A signed number that may be absent (errno values, completion numbers).
    pub fn opt_i64(&self, p: &Place, name: &str) -> Result<Option<i64>, BadInput> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(v) => match v.as_i64() {
                Some(n) => Ok(Some(n)),
                None => Err(self.wrong(p, name, v, "a whole number")),
            },
        }
    }

    /// A string.
    pub fn str<'a>(&'a self, p: &Place, name: &str) -> Result<&'a str, BadInput> {
        let v = self.get(p, name, "a string")?;
        v.as_str().ok_or_else(|| self.wrong(p, name, v, "a string"))
    }

    /// A string that may be absent.
    pub fn opt_str<'a>(&'a self, p: &Place, name: &str) -> Result<Option<&'a str>, BadInput> {
        if self.has(name) {
            self.str(p, name).map(Some)
        } else {
            Ok(None)
        }
    }

    /// A string out of a list of known ones.
    pub fn one_of<'a>(
        &'a self,
        p: &Place,
        name: &str,
        known: &[&str],
    ) -> Result<&'a str, BadInput> {
        let expected = format!("one of {}", known.join(", "));
        let v = self.get(p, name, &expected)?;
        match v.as_str() {
            Some(s) if known.contains(&s) => Ok(s),
            _ => Err(self.wrong(p, name, v, &expected)),
        }
    }

    /// A truth value that is false when absent.
    pub fn flag(&self, p: &Place, name: &str) -> Result<bool, BadInput> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(b)) => Ok(*b),
            Some(v) => Err(self.wrong(p, name, v, "true or false")),
        }
    }

    /// A truth value that must be there.
    pub fn bool(&self, p: &Place, name: &str) -> Result<bool, BadInput> {
        let v = self.get(p, name, "true or false")?;
        v.as_bool()
            .ok_or_else(|| self.wrong(p, name, v, "true or false"))
    }

    /// An object inside.
    pub fn object(&self, p: &Place, name: &str) -> Result<Object, BadInput> {
        let v = self.get(p, name, "an object")?;
        match v {
            Value::Object(map) => Ok(Object {
                path: self.path(name),
                map: map.clone(),
            }),
            _ => Err(self.wrong(p, name, v, "an object")),
        }
    }

    /// A list of objects.
    pub fn objects(&self, p: &Place, name: &str) -> Result<Vec<Object>, BadInput> {
        let v = self.get(p, name, "a list of objects")?;
        let Value::Array(items) = v else {
            return Err(self.wrong(p, name, v, "a list of objects"));
        };
        let mut out = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            match item {
                Value::Object(map) => out.push(Object {
                    path: format!("{}[{i}]", self.path(name)),
                    map: map.clone(),
                }),
                other => {
                    return Err(p.bad(
                        format!("\"{}[{i}]\" is {}", self.path(name), describe(other)),
                        "an object",
                    ))
                }
            }
        }
        Ok(out)
    }

    /// A list of lists of `N` numbers.
    pub fn tuples<const N: usize>(
        &self,
        p: &Place,
        name: &str,
        expected: &str,
    ) -> Result<Vec<[u64; N]>, BadInput> {
        let v = self.get(p, name, expected)?;
        let Value::Array(items) = v else {
            return Err(self.wrong(p, name, v, expected));
        };
        let mut out = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let wrong = || {
                p.bad(
                    format!("\"{}[{i}]\" is {}", self.path(name), describe(item)),
                    expected,
                )
            };
            let Value::Array(parts) = item else {
                return Err(wrong());
            };
            if parts.len() != N {
                return Err(wrong());
            }
            let mut tuple = [0u64; N];
            for (slot, part) in tuple.iter_mut().zip(parts) {
                *slot = number(part).ok_or_else(wrong)?;
            }
            out.push(tuple);
        }
        Ok(out)
    }
}

/// A number from a JSON number or a string.
fn number(v: &Value) -> Option<u64> {
    match v {
        Value::Number(n) => n.as_u64(),
        Value::String(s) => match s.strip_prefix("0x").or_else(|| s.strip_prefix("0X")) {
            Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                u64::from_str_radix(hex, 16).ok()
            }
            Some(_) => None,
            None if s.bytes().all(|b| b.is_ascii_digit()) => s.parse().ok(),
            None => None,
        },
        _ => None,
    }
}

/// A short description of a value, for messages.
fn describe(v: &Value) -> String {
    let text = match v {
        Value::Null => return "null".into(),
        Value::Array(items) => return format!("a list of {} items", items.len()),
        Value::Object(_) => return "an object".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(s) => format!("{s:?}"),
    };
    if text.chars().count() > 60 {
        let cut: String = text.chars().take(57).collect();
        format!("{cut}...")
    } else {
        text
    }
}

/// The text of a JSON error without its own line number (a line here is always line 1 there).
fn json_error(e: &serde_json::Error) -> String {
    let text = e.to_string();
    match text.rfind(" at line ") {
        Some(at) => format!("{} at column {}", &text[..at], e.column()),
        None => text,
    }
}

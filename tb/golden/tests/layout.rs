// SPDX-License-Identifier: Apache-2.0
//! The Rust constants against the text of `rtl/tpt_pkg.sv`: a change on one side alone fails here.
//!
//! The package is read with a small reader of just the SystemVerilog that it uses: localparams,
//! enumerations and packed structs. Offsets of fields are computed from the text.

use std::collections::BTreeMap;

use tpt_golden::codec::{self, Field};
use tpt_golden::keys;
use tpt_golden::queue;
use tpt_golden::regs;
use tpt_golden::types::*;
use tpt_golden::unit;

/// The package: named numbers, enumerations, structs.
#[derive(Default)]
struct Package {
    params: BTreeMap<String, u64>,
    enums: BTreeMap<String, Vec<(String, u64)>>,
    structs: BTreeMap<String, Vec<Member>>,
}

/// A struct member, its element width and number of elements.
#[derive(Debug, PartialEq)]
struct Member {
    name: String,
    width: usize,
    count: usize,
}

impl Package {
    fn read() -> Package {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rtl/tpt_pkg.sv");
        let text = std::fs::read_to_string(path).expect("the package can be read");
        let text: String = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(""))
            .collect::<Vec<_>>()
            .join("\n");
        let mut package = Package::default();
        let mut rest = text.as_str();
        while let Some(at) = ["localparam ", "typedef "]
            .iter()
            .filter_map(|w| rest.find(w))
            .min()
        {
            rest = &rest[at..];
            if rest.starts_with("localparam ") {
                let (statement, tail) =
                    rest.split_once(';').expect("a semicolon ends a localparam");
                package.localparam(statement);
                rest = tail;
            } else if rest.find(';') < rest.find('{') {
                // Another name for a plain vector.
                rest = &rest["typedef ".len()..];
            } else {
                let (head, tail) = rest.split_once('{').expect("a typedef has a body");
                let (body, tail) = tail.split_once('}').expect("a typedef has an end");
                let (name, tail) = tail.split_once(';').expect("a typedef has a name");
                if head.contains("enum") {
                    package.enumeration(name.trim(), body);
                } else {
                    package.structure(name.trim(), body);
                }
                rest = tail;
            }
        }
        package
    }

    fn localparam(&mut self, statement: &str) {
        let (left, right) = statement.split_once('=').expect("a localparam has a value");
        let name = left
            .split_whitespace()
            .last()
            .expect("a localparam has a name");
        // Functions may hold local constants of other kinds; only plain numbers are of interest.
        if let Some(value) = self.value(right) {
            self.params.insert(name.to_string(), value);
        }
    }

    fn enumeration(&mut self, name: &str, body: &str) {
        let values = body.split(',').map(|item| {
            let (name, value) = item.split_once('=').expect("every value has its code");
            (
                name.trim().to_string(),
                self.value(value).expect("a code is a number"),
            )
        });
        let values = values.collect();
        self.enums.insert(name.to_string(), values);
    }

    fn structure(&mut self, name: &str, body: &str) {
        let members = body
            .split(';')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| {
                let dims = item
                    .strip_prefix("logic")
                    .expect("members are logic")
                    .trim();
                let (dims, name) = match dims.rfind(']') {
                    Some(end) => (&dims[..=end], dims[end + 1..].trim()),
                    None => ("", dims),
                };
                let mut sizes: Vec<usize> = dims
                    .split('[')
                    .skip(1)
                    .map(|dim| {
                        let (high, low) = dim.split_once(':').expect("a range");
                        assert_eq!(low.trim().trim_end_matches(']'), "0");
                        self.value(high).expect("a range is a number") as usize + 1
                    })
                    .collect();
                let width = sizes.pop().unwrap_or(1);
                Member {
                    name: name.to_string(),
                    width,
                    count: sizes.iter().product(),
                }
            });
        let members = members.collect();
        self.structs.insert(name.to_string(), members);
    }

    /// The value of an expression: a number, a name, a difference, a power, the bits of a struct.
    fn value(&self, expression: &str) -> Option<u64> {
        let expression = expression.trim();
        if let Some((base, exponent)) = expression.split_once("**") {
            return self
                .value(base)?
                .checked_pow(self.value(exponent)?.try_into().ok()?);
        }
        if let Some((left, right)) = expression.split_once('-') {
            return self.value(left)?.checked_sub(self.value(right)?);
        }
        if let Some(name) = expression
            .strip_prefix("$bits(")
            .and_then(|e| e.strip_suffix(')'))
        {
            return Some(self.bits(name) as u64);
        }
        if let Some(value) = self.params.get(expression) {
            return Some(*value);
        }
        let digits = expression.replace('_', "");
        match digits.split_once('\'') {
            None => digits.parse().ok(),
            Some((_, based)) => {
                let radix = match based.chars().next()? {
                    'h' => 16,
                    'd' => 10,
                    'b' => 2,
                    _ => return None,
                };
                u64::from_str_radix(&based[1..], radix).ok()
            }
        }
    }

    fn bits(&self, name: &str) -> usize {
        self.structs[name]
            .iter()
            .map(|member| member.width * member.count)
            .sum()
    }

    fn param(&self, name: &str) -> u64 {
        *self
            .params
            .get(name)
            .unwrap_or_else(|| panic!("the package has no number {name}"))
    }

    /// Compares an enumeration with `prefix` before each name.
    fn same_enum(&self, name: &str, prefix: &str, ours: &[(&str, u8)]) {
        let ours: Vec<_> = ours
            .iter()
            .map(|(name, code)| (format!("{prefix}{name}"), u64::from(*code)))
            .collect();
        assert_eq!(self.enums[name], ours, "enumeration {name}");
    }

    fn same_layout(&self, name: &str, fields: &[Field], bits: usize) {
        assert_eq!(self.bits(name), bits, "bits of {name}");
        let mut lsb = bits;
        let theirs: Vec<_> = self.structs[name]
            .iter()
            .map(|member| {
                lsb -= member.width * member.count;
                (member.name.as_str(), lsb, member.width, member.count)
            })
            .collect();
        let ours: Vec<_> = fields
            .iter()
            .map(|f| (f.name, f.lsb, f.width, f.count))
            .collect();
        assert_eq!(theirs, ours, "layout of {name}");
    }
}

/// Names and codes of one of our enumerations.
macro_rules! codes {
    ($name:ident) => {
        $name::ALL
            .iter()
            .map(|value| (value.name(), value.code()))
            .collect::<Vec<_>>()
    };
}

#[test]
fn enumerations() {
    let package = Package::read();
    package.same_enum("op_e", "Op", &codes!(Op));
    package.same_enum("syndrome_e", "Syn", &codes!(Syndrome));
    package.same_enum("state_e", "St", &codes!(State));
    package.same_enum("kind_e", "Kind", &codes!(Kind));
    package.same_enum("cmd_op_e", "Cmd", &codes!(CmdOp));
    package.same_enum("status_e", "Sts", &codes!(Status));
    package.same_enum("enc_e", "Enc", &codes!(Encoding));
    assert_eq!(package.param("RoleLocal"), u64::from(Role::Local.code()));
    assert_eq!(package.param("RoleRemote"), u64::from(Role::Remote.code()));
    assert_eq!(package.param("LevelInline"), u64::from(LEVEL_INLINE));
    assert_eq!(package.param("LevelFlat"), u64::from(LEVEL_FLAT));
}

#[test]
fn packed_structs() {
    let package = Package::read();
    package.same_layout("req_t", codec::req::FIELDS, codec::req::BITS);
    package.same_layout("rsp_t", codec::rsp::FIELDS, codec::rsp::BITS);
    package.same_layout("done_t", codec::done::FIELDS, codec::done::BITS);
    package.same_layout("cmd_t", codec::cmd::FIELDS, codec::cmd::BITS);
    package.same_layout("mpt_entry_t", codec::mpt::FIELDS, codec::mpt::BITS);
    for (name, bits) in [
        ("ReqW", codec::req::BITS),
        ("RspW", codec::rsp::BITS),
        ("DoneW", codec::done::BITS),
        ("CmdW", codec::cmd::BITS),
        ("CplW", codec::cpl::BITS),
        ("MptW", codec::mpt::BITS),
    ] {
        assert_eq!(package.param(name), bits as u64, "{name}");
    }
    // The completion holds a whole entry: one field there, eight words here.
    let entry = codec::cpl::ENTRY;
    let mut fields = codec::cpl::FIELDS.to_vec();
    let last = fields.last_mut().expect("the completion has fields");
    *last = Field {
        width: entry.width * entry.count,
        count: 1,
        ..entry
    };
    package.same_layout("cpl_t", &fields, codec::cpl::BITS);
}

/// The fields of the flat layouts do not overlap and leave no gap, on our side too.
#[test]
fn fields_are_dense() {
    for (fields, bits) in [
        (codec::req::FIELDS, codec::req::BITS),
        (codec::rsp::FIELDS, codec::rsp::BITS),
        (codec::done::FIELDS, codec::done::BITS),
        (codec::cmd::FIELDS, codec::cmd::BITS),
        (codec::cpl::FIELDS, codec::cpl::BITS),
        (codec::mpt::FIELDS, codec::mpt::BITS),
    ] {
        let end = fields.iter().rev().fold(0, |lsb, field| {
            assert_eq!(field.lsb, lsb, "{}", field.name);
            lsb + field.width * field.count
        });
        assert_eq!(end, bits);
    }
}

#[test]
fn access_bits() {
    let package = Package::read();
    for (name, flag) in [
        ("AccLocalWrite", Access::LOCAL_WRITE),
        ("AccRemoteWrite", Access::REMOTE_WRITE),
        ("AccRemoteRead", Access::REMOTE_READ),
        ("AccRemoteAtomic", Access::REMOTE_ATOMIC),
        ("AccMwBind", Access::MW_BIND),
        ("AccZeroBased", Access::ZERO_BASED),
        ("AccOnDemand", Access::ON_DEMAND),
        ("AccHugeTlb", Access::HUGETLB),
        ("AccFlushGlobal", Access::FLUSH_GLOBAL),
        ("AccFlushPersistent", Access::FLUSH_PERSISTENT),
        ("AccRelaxedOrdering", Access::RELAXED_ORDERING),
    ] {
        assert_eq!(flag.to_stored(), 1 << package.param(name), "{name}");
        assert_eq!(
            Access::from_stored(1 << package.param(name)),
            flag,
            "{name}"
        );
    }
    assert_eq!(
        Access::from_stored((1 << package.param("AccessW")) - 1).to_stored(),
        0x7ff
    );
    for (name, known) in [
        ("KnownAccess", Access::KNOWN),
        ("KnownMwAccess", Access::KNOWN_WINDOW),
        ("KnownPhysAccess", Access::KNOWN_PHYS),
    ] {
        assert_eq!(package.param(name), known.0.into(), "{name}");
    }
    for (name, bit) in [
        ("FlagRemoteInv", flag::REMOTE_INV),
        ("FlagMw2", flag::MW2),
        ("FlagMw2a", flag::MW2A),
        ("FlagRefuse", flag::REFUSE),
    ] {
        assert_eq!(1 << package.param(name), bit, "{name}");
    }
    let relaxed = package.param("VerbsRelaxedOrdering");
    assert_eq!(Access::RELAXED_ORDERING.0, 1 << relaxed);
    for (name, bit) in [
        ("ReregTranslation", rereg::TRANSLATION),
        ("ReregPd", rereg::PD),
        ("ReregAccess", rereg::ACCESS),
    ] {
        assert_eq!(1 << package.param(name), bit, "{name}");
    }
}

#[test]
fn limits() {
    let package = Package::read();
    assert_eq!(
        package.param("MinLogPage"),
        u64::from(*codec::LOG_PAGE_RANGE.start())
    );
    assert_eq!(
        package.param("MaxLogPage"),
        u64::from(*codec::LOG_PAGE_RANGE.end())
    );
    assert_eq!(
        package.param("MinLogTPage"),
        u64::from(*codec::LOG_TPAGE_RANGE.start())
    );
    assert_eq!(
        package.param("MaxLogTPage"),
        u64::from(*codec::LOG_TPAGE_RANGE.end())
    );
    assert_eq!(package.param("MaxReqLen"), u64::from(unit::MAX_REQUEST));
    assert_eq!(1u128 << package.param("PageIdxW"), unit::MAX_PAGES);
    assert_eq!((1 << package.param("CapW")) - 1, u64::from(unit::MAX_CAP));
    assert_eq!(package.param("MaxLogPage"), u64::from(unit::LOG_PHYS_PAGE));
    assert_eq!(package.param("MptBytes"), codec::MPT_BYTES as u64);
    assert_eq!(package.param("IndexW"), u64::from(keys::INDEX_BITS));
    assert_eq!(package.param("CheckW"), codec::CHECK_BITS.into());
    assert_eq!(package.param("PermRounds"), u64::from(keys::PERM_ROUNDS));
}

/// The registers themselves come from one description, see `make csr`.
#[test]
fn registers() {
    let package = Package::read();
    assert_eq!(package.param("MaxMptSize"), u64::from(regs::MAX_MPT_SIZE));
    let syndromes = &package.enums["syndrome_e"];
    let counted = regs::REGISTERS.iter().find(|r| r.name == "SYN_COUNT");
    let counted = counted.map_or(0, |register| register.count);
    assert_eq!(
        syndromes.iter().map(|(_, code)| *code).max(),
        Some(u64::from(counted)),
        "one counter per number of a syndrome but OK"
    );
    assert_eq!(regs::ID_VALUE, u32::from_be_bytes(*b"TPT0"));
}

/// The sizes in CAP: read back right.
#[test]
fn capabilities() {
    let fields = regs::REGISTERS.iter().find(|r| r.name == "CAP");
    let fields = fields.map_or(&[][..], |register| register.fields);
    let values = [2, 3, 4, 7, 2, 8, 1, 9, 2, 1, 1];
    assert_eq!(fields.len(), values.len());
    let register = fields.iter().zip(values).fold(0, |all, (field, value)| {
        all | value << field.mask.trailing_zeros()
    });
    let expected = regs::Capabilities {
        clients: 2,
        max_levels: 3,
        streams: 16,
        contexts: 128,
        axi_data: 512,
        mpt_sets: 256,
        mpt_ways: 2,
        mtt_sets: 512,
        mtt_ways: 4,
        lanes: 2,
        merge: true,
    };
    assert_eq!(regs::Capabilities::from_register(register), expected);
}

/// Slots of the queues in memory: whole bytes, the last member first.
#[test]
fn queue_slots() {
    let package = Package::read();
    for (name, fields) in [
        ("cmdq_slot_t", queue::CMD_FIELDS),
        ("cplq_slot_t", queue::CPL_FIELDS),
    ] {
        assert_eq!(package.bits(name), queue::SLOT_BYTES * 8, "{name}");
        let mut at = 0;
        let members = package.structs[name].iter().rev();
        let theirs: Vec<_> = members
            .map(|member| {
                let place = at;
                at += member.width * member.count / 8;
                (member.name.as_str(), place, member.width / 8, member.count)
            })
            .collect();
        let ours: Vec<_> = fields
            .iter()
            .map(|f| (f.name, f.at, f.bytes, f.count))
            .collect();
        assert_eq!(theirs, ours, "layout of {name}");
    }
    // A field that the channel has, too, has its width there.
    let channel = &package.structs["cmd_t"];
    for field in queue::CMD_FIELDS {
        match channel.iter().find(|member| member.name == field.name) {
            Some(_) if field.name == "op" => {}
            Some(member) => assert_eq!(member.width, field.bits, "{}", field.name),
            None => assert!(field.bits == 0 || field.name == "version", "{}", field.name),
        }
    }
    assert_eq!(package.param("QueueSlotBytes"), queue::SLOT_BYTES as u64);
    assert_eq!(package.param("CmdqVersion"), queue::VERSION.into());
    let limits =
        ["MinLogCmdQueue", "MinLogCplQueue", "MaxLogQueue"].map(|name| package.param(name));
    let (commands, completions) = (queue::CMDQ_LOG_RANGE, queue::CPLQ_LOG_RANGE);
    let ours = [commands.start(), completions.start(), commands.end()].map(|n| u64::from(*n));
    assert_eq!(limits, ours);
    assert_eq!(commands.end(), completions.end());
}

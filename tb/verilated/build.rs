// SPDX-License-Identifier: Apache-2.0
//! Builds the Verilated models: Verilator writes C++ (`--cc` only), `cc` compiles it.
//!
//! * One model of `tpt_top` per configuration of `rtl/configs.toml` (`TPT_CONFIGS=small,default`
//!   restricts them), and one per small top of [`FLAT_TOPS`].
//! * `TPT_NETLIST=netlist.v` builds `tpt_top` from that file instead of the RTL: for one
//!   configuration, whose netlist it is; and no flat top. It is of gates (`tools/gate_sim.py`), or,
//!   with `TPT_MUTANTS=1`, of words, with assertions and faults to choose (`tools/mutation.py`).
//! * `TPT_CHECK=1` compiles no C++ of the models: for clippy and the pages of the API, which link
//!   nothing.
//! * What Verilator wrote is found by listing its directory, never by fixed names.
//! * A model whose C++ text has not changed is not compiled again.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::thread;

/// Tops in `sv/` that are built as flat models. To add one: its name here, its text in
/// `sv/<name>.sv`. Ports are packed vectors, the clock is `clk_i`.
const FLAT_TOPS: &[&str] = &[
    "tb_assert",
    "tb_cmd_queue",
    "tb_csr",
    "tb_mpt_check",
    "tb_mtt_walker",
];

/// Parameters whose values are those of the RTL where a configuration has none, and the files that
/// say them.
const DEFAULTS: [(&str, &[&str]); 2] = [
    (
        "tpt_top.sv",
        &[
            "NumClients",
            "MaxLevels",
            "Lanes",
            "CmdQueue",
            "MttChecked",
            "FaultSlots",
            "NumWindows",
            "Partitions",
            "GuessAlarm",
            "AlarmPds",
            "RefusalTime",
        ],
    ),
    // No configuration changes it.
    ("tpt_reg_engine.sv", &["FenceDepth"]),
];
/// The board of `fpga/rtl`: a flat model of this name, with clock and configuration of the board of
/// this name in `fpga/boards.toml`.
const BOARD: (&str, &str, &str) = ("board", "tpt_board", "ulx3s");
/// Its sources beside those of the unit.
const BOARD_FILES: &str = "fpga/rtl/board.f";

/// Cover points of the insides of the blocks, for the feature `cov`.
const COVER_POINTS: &str = "tb/verilated/sv/cover";

/// Large models of which short runs are enough: to optimise them fully takes longer than it saves.
const LIGHT: [&str; 3] = ["large", "lanes2", "lanes4"];

/// Oldest Verilator that is known to accept the RTL.
const OLDEST: (u32, u32) = (5, 20);

fn main() {
    let build = Build::new();
    build.watch();
    let wanted = env::var("TPT_CONFIGS").ok();
    let mut configs = read_configs(&build.root.join("rtl/configs.toml"));
    for name in LIGHT {
        let known = configs.iter().any(|config| config.name == name);
        assert!(known, "LIGHT: rtl/configs.toml has no configuration {name}");
    }
    // What a configuration does not say is as the RTL has it.
    for (file, names) in DEFAULTS {
        let path = build.root.join("rtl").join(file);
        for config in &mut configs {
            config.complete(&path, names);
        }
    }
    let board = read_board(&build.root, BOARD.2);
    let named = |known: &str| match &wanted {
        Some(list) => list.split(',').any(|name| name.trim() == known),
        None => true,
    };
    let chosen = |config: &&Config| named(&config.name);
    // All at once: each Verilator is one thread, and they take seconds.
    let models: Vec<Model> = thread::scope(|scope| {
        let build = &build;
        let tops = configs
            .iter()
            .filter(chosen)
            .map(|config| scope.spawn(move || build.top(config)));
        let flats = FLAT_TOPS
            .iter()
            .filter(|_| build.netlist.is_none())
            .filter(|top| build.dir.join(format!("sv/{top}.sv")).exists())
            .map(|top| scope.spawn(move || build.flat(top)));
        let board = &board;
        let unit = configs.iter().find(|config| config.name == board.config);
        let unit = unit.expect("a configuration of rtl/configs.toml in fpga/boards.toml");
        let board = named(BOARD.0).then(|| scope.spawn(move || build.board(unit, board)));
        let running: Vec<_> = tops.chain(flats).chain(board).collect();
        running
            .into_iter()
            .map(|job| job.join().unwrap_or_else(|_| process::exit(1)))
            .collect()
    });
    build.bridge(&configs, &models, &board);
    // What is only checked is not linked.
    if !env::var_os("TPT_CHECK").is_some_and(|value| value == "1") {
        for model in &models {
            build.compile(model);
        }
        build.runtime();
    }
    if cfg!(feature = "trace") {
        println!("cargo:rustc-link-lib=z");
        println!("cargo:rustc-link-lib=lz4");
    }
}

/// A named configuration: its parameters in the order of the file.
struct Config {
    name: String,
    parameters: Vec<(String, u32)>,
    /// Parameters that the file does not name, as the RTL has them.
    defaults: Vec<(String, u32)>,
}

impl Config {
    fn find(&self, name: &str) -> Option<u32> {
        let mut parameters = self.parameters.iter().chain(&self.defaults);
        parameters.find(|(key, _)| key == name).map(|(_, v)| *v)
    }

    /// Adds the values that the parameters of these names have in a file of the RTL.
    fn complete(&mut self, path: &Path, names: &[&str]) {
        let text =
            fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for name in names {
            let value = parameter(&text, name)
                .unwrap_or_else(|| panic!("{}: no parameter {name} = number", path.display()));
            self.defaults.push(((*name).to_owned(), value));
        }
    }

    fn clients(&self) -> u32 {
        self.get("NumClients")
    }

    fn get(&self, name: &str) -> u32 {
        match self.find(name) {
            Some(value) => value,
            None => panic!("rtl/configs.toml: [{}] has no {name}", self.name),
        }
    }
}

/// The value that a parameter has in a text of the RTL.
fn parameter(text: &str, name: &str) -> Option<u32> {
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("parameter int unsigned ")?;
        let (key, value) = rest.split_once('=')?;
        let value = value.split(['/', ',']).next()?.replace('_', "");
        (key.trim() == name).then(|| value.trim().parse().ok())?
    })
}

/// What of a board the bench must know.
struct Board {
    /// Of rtl/configs.toml.
    config: String,
    clock_hz: u32,
    baud: u32,
}

/// Configuration and clock of a board of fpga/boards.toml; the speed of its line is that of
/// fpga/rtl/tpt_board.sv.
fn read_board(root: &Path, name: &str) -> Board {
    let read = |file: &str| {
        let path = root.join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let text = read("fpga/boards.toml");
    let head = format!("[{name}]");
    let table = text.lines().skip_while(|line| line.trim() != head).skip(1);
    let table: Vec<_> = table.take_while(|line| !line.starts_with('[')).collect();
    let value = |key: &str| {
        let found = table.iter().find_map(|line| {
            let (left, right) = line.split('#').next()?.split_once('=')?;
            (left.trim() == key).then(|| right.trim().trim_matches('"').to_owned())
        });
        found.unwrap_or_else(|| panic!("fpga/boards.toml: [{name}] has no {key}"))
    };
    let clock = value("clock_mhz");
    let Some(clock_hz) = clock
        .parse::<u32>()
        .ok()
        .and_then(|mhz| mhz.checked_mul(1_000_000))
    else {
        panic!("fpga/boards.toml: [{name}] clock_mhz is {clock}; expected a whole number of MHz")
    };
    let file = "fpga/rtl/tpt_board.sv";
    let baud = parameter(&read(file), "Baud");
    Board {
        config: value("config"),
        clock_hz,
        baud: baud.unwrap_or_else(|| panic!("{file}: no parameter Baud = number")),
    }
}

/// A model after Verilator ran.
struct Model {
    /// Name that Rust asks for: of a configuration or of a flat top.
    name: String,
    /// Class that Verilator wrote.
    class: String,
    /// Where it wrote.
    dir: PathBuf,
    /// Ports in the order of the class's header.
    ports: Vec<Port>,
    flat: bool,
    /// Clients of a top.
    clients: u32,
}

struct Port {
    name: String,
    input: bool,
    width: usize,
}

impl Port {
    fn words(&self) -> usize {
        self.width.div_ceil(32)
    }
}

/// What Verilator reads.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// The RTL.
    Rtl,
    /// The RTL, and a top beside it.
    Beside(&'a Path),
    /// The RTL, and further arguments: files beside it.
    Files(&'a [OsString]),
    /// A netlist of tpt_top of gates, and models of the cells that it still has.
    Gates(&'a Path),
    /// A netlist of tpt_top of words, with assertions.
    Words(&'a Path),
}

struct Build {
    /// The netlist to be built instead of the RTL.
    netlist: Option<PathBuf>,
    /// The netlist is of words and has assertions.
    words: bool,
    /// The workspace.
    root: PathBuf,
    /// This crate.
    dir: PathBuf,
    out: PathBuf,
    verilator: PathBuf,
    include: PathBuf,
    version: String,
}

impl Build {
    fn new() -> Self {
        let dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
        let root = dir
            .join("../..")
            .canonicalize()
            .expect("the workspace root");
        println!("cargo:rerun-if-env-changed=VERILATOR");
        println!("cargo:rerun-if-env-changed=VERILATOR_ROOT");
        println!("cargo:rerun-if-env-changed=TPT_CONFIGS");
        println!("cargo:rerun-if-env-changed=TPT_NETLIST");
        println!("cargo:rerun-if-env-changed=TPT_MUTANTS");
        println!("cargo:rerun-if-env-changed=TPT_TOGGLE");
        println!("cargo:rerun-if-env-changed=TPT_CHECK");
        // Two copies of the sources may share a target folder: each names itself.
        println!("cargo:rerun-if-env-changed=TPT_TREE");
        let (verilator, root_wanted) = find_verilator(&root);
        let mut command = Command::new(&verilator);
        if !root_wanted {
            command.env_remove("VERILATOR_ROOT");
        }
        let home = text_of(command.args(["--getenv", "VERILATOR_ROOT"]), &verilator);
        let include = Path::new(home.trim()).join("include");
        let version = check_version(&verilator, &include);
        let netlist = env::var_os("TPT_NETLIST").filter(|path| !path.is_empty());
        Self {
            netlist: netlist.map(PathBuf::from),
            words: env::var_os("TPT_MUTANTS").is_some_and(|value| value == "1"),
            root,
            dir,
            out,
            verilator,
            include,
            version,
        }
    }

    /// Cargo runs this program again when one of these changes.
    fn watch(&self) {
        for path in ["build.rs", "src/lib.rs", "cpp", "sv"] {
            println!("cargo:rerun-if-changed={path}");
        }
        for path in ["rtl", "fpga/rtl", "fpga/boards.toml"] {
            println!("cargo:rerun-if-changed={}", self.root.join(path).display());
        }
        if let Some(netlist) = &self.netlist {
            println!("cargo:rerun-if-changed={}", netlist.display());
        }
    }

    fn top(&self, config: &Config) -> Model {
        let parameters: Vec<String> = config
            .parameters
            .iter()
            .map(|(name, value)| format!("-G{name}={value}"))
            .collect();
        let mut model = match &self.netlist {
            Some(netlist) => {
                let source = match self.words {
                    true => Source::Words(netlist),
                    false => Source::Gates(netlist),
                };
                self.verilate(&config.name, "tpt_top", source, &[])
            }
            None => self.verilate(&config.name, "tpt_top", Source::Rtl, &parameters),
        };
        model.clients = config.clients();
        let clients = model.clients as usize;
        // The packers of the bridge work with these widths.
        for (port, width) in [
            ("s_axis_req_tdata", clients * 195),
            ("m_axis_rsp_tdata", clients * 120),
            ("s_axis_done_tdata", clients * 10),
            ("s_axis_cmd_tdata", 603),
            ("m_axis_cpl_tdata", 624),
            ("m_axi_rdata", config.get("AxiDataW") as usize),
        ] {
            let found = model
                .ports
                .iter()
                .find(|p| p.name == port)
                .map_or(0, |p| p.width);
            assert!(
                found == width,
                "tpt_top: port {port} is {found} bits wide, the bridge is made for {width}"
            );
        }
        model
    }

    fn flat(&self, top: &str) -> Model {
        let source = self.dir.join(format!("sv/{top}.sv"));
        let mut model = self.verilate(top, top, Source::Beside(&source), &[]);
        model.flat = true;
        model
    }

    fn board(&self, config: &Config, board: &Board) -> Model {
        let clock = ("ClkHz".to_owned(), board.clock_hz);
        let parameters: Vec<String> = config
            .parameters
            .iter()
            .chain([&clock])
            .map(|(name, value)| format!("-G{name}={value}"))
            .collect();
        let files = ["-f".into(), BOARD_FILES.into()];
        let mut model = self.verilate(BOARD.0, BOARD.1, Source::Files(&files), &parameters);
        model.flat = true;
        model
    }

    /// Runs `verilator --cc` in an empty directory.
    fn verilate(&self, name: &str, top: &str, source: Source, parameters: &[String]) -> Model {
        let class = format!("Vtpt_{name}");
        let dir = self.out.join(format!("vl_{name}"));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a directory in OUT_DIR");
        let mut command = Command::new(&self.verilator);
        command.current_dir(&self.root).env_remove("VERILATOR_ROOT");
        if let Some(home) = self.include.parent() {
            if env::var_os("VERILATOR_ROOT").is_some() && env::var_os("VERILATOR").is_some() {
                command.env("VERILATOR_ROOT", home);
            }
        }
        command.args([
            "--cc",
            "-Wall",
            "-Wno-fatal",
            "--x-assign",
            "fast",
            "--x-initial",
            "unique",
            "-O3",
            "-Irtl",
        ]);
        // Of a netlist there is so much that the compiler must get it in small functions.
        command.args(match source {
            Source::Gates(_) => &["--output-split", "20000", "--output-split-cfuncs", "500"][..],
            _ => &["--output-split", "12000", "--assert"][..],
        });
        if cfg!(feature = "trace") {
            command.args(["--trace-fst", "--trace-structs"]);
        }
        let covered =
            cfg!(feature = "cov") && !matches!(source, Source::Gates(_) | Source::Words(_));
        if covered {
            command.args(["--coverage-line", "--coverage-user"]);
            command.arg(format!("-I{COVER_POINTS}"));
            command.args(list(&self.root.join(COVER_POINTS), &["sv"]));
            if env::var_os("TPT_TOGGLE").is_some_and(|value| value == "1") {
                command.arg("--coverage-toggle");
            }
        }
        command.args(["--top-module", top, "--prefix", &class]);
        command.arg("--Mdir").arg(&dir);
        command.args(parameters);
        let waivers = self.root.join("rtl/lint/verilator.vlt");
        if waivers.exists() {
            command.arg("rtl/lint/verilator.vlt");
        }
        match source {
            Source::Rtl => {
                command.args(["-f", "rtl/tpt.f"]);
            }
            Source::Files(files) => {
                command.args(["-f", "rtl/tpt.f"]).args(files);
            }
            Source::Beside(source) => {
                command.args(["-f", "rtl/tpt.f"]).arg(source);
            }
            Source::Gates(netlist) => {
                command.args(["-Wno-lint", "-Wno-style", "tb/gates/dp16kd.v"]);
                command.arg(netlist);
            }
            Source::Words(netlist) => {
                command.args(["-Wno-lint", "-Wno-style"]).arg(netlist);
            }
        }
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", self.verilator.display()));
        if !output.status.success() {
            panic!(
                "{} failed on {top} ({name}):\n{}{}",
                self.verilator.display(),
                String::from_utf8_lossy(&output.stderr),
                String::from_utf8_lossy(&output.stdout)
            );
        }
        // Warnings end `make lint`, not a build: other versions of Verilator have other ones.
        let text = String::from_utf8_lossy(&output.stderr);
        for line in text
            .lines()
            .filter(|line| matches!(source, Source::Rtl) && line.starts_with("%Warning"))
        {
            println!("cargo:warning={name}: {line}");
        }
        let header = fs::read_to_string(dir.join(format!("{class}.h"))).expect("the class header");
        let ports = read_ports(&header);
        assert!(!ports.is_empty(), "{class}.h: no port found");
        Model {
            name: name.to_owned(),
            class,
            dir,
            ports,
            flat: false,
            clients: 0,
        }
    }

    fn defines(&self) -> Vec<(&'static str, &'static str)> {
        let trace = if cfg!(feature = "trace") { "1" } else { "0" };
        let cov = if cfg!(feature = "cov") { "1" } else { "0" };
        vec![
            ("VM_TRACE", trace),
            ("VM_TRACE_FST", trace),
            ("VM_COVERAGE", cov),
            ("VM_SC", "0"),
            ("VM_TIMING", "0"),
            ("VL_TIME_CONTEXT", "1"),
        ]
    }

    /// A compiler for C++ of Verilator's: optimised whatever the cargo profile says.
    fn compiler(&self, level: u32) -> cc::Build {
        let mut compiler = cc::Build::new();
        compiler
            .cpp(true)
            .std("c++17")
            .warnings(false)
            .debug(false)
            .opt_level(level);
        self.prepare(&mut compiler);
        compiler
    }

    fn prepare(&self, compiler: &mut cc::Build) {
        compiler
            .include(&self.include)
            .include(self.include.join("vltstd"));
        for (name, value) in self.defines() {
            compiler.define(name, value);
        }
        compiler.cargo_metadata(false);
    }

    fn link(&self, library: &str) {
        println!("cargo:rustc-link-search=native={}", self.out.display());
        println!("cargo:rustc-link-lib=static={library}");
    }

    /// True if `library` was made from the same text by the same tools before.
    fn fresh(&self, library: &str, sources: &[PathBuf]) -> (bool, PathBuf, String) {
        let mut hash = DefaultHasher::new();
        self.version.hash(&mut hash);
        self.include.hash(&mut hash);
        self.defines().hash(&mut hash);
        for source in sources {
            source.hash(&mut hash);
            fs::read(source).expect("a source file").hash(&mut hash);
        }
        let stamp = self.out.join(format!("{library}.stamp"));
        let value = format!("{:016x}", hash.finish());
        let fresh = self.out.join(format!("lib{library}.a")).exists()
            && fs::read_to_string(&stamp).is_ok_and(|old| old == value);
        (fresh, stamp, value)
    }

    /// Compiles the C++ of one model.
    fn compile(&self, model: &Model) {
        let library = format!("tptvl_{}", model.name);
        let mut all = list(&model.dir, &["cpp", "h"]);
        all.sort();
        let (fresh, stamp, value) = self.fresh(&library, &all);
        if !fresh {
            let _ = fs::remove_file(&stamp);
            // Constructors, reset values and trace declarations run once, and the code that
            // records waves seldom: no time is spent on optimising them.
            let files = list(&model.dir, &["cpp"]);
            let mut objects = Vec::new();
            let mut level = |level: u32| {
                let chosen: Vec<_> = files
                    .iter()
                    .filter(|file| level_of(file) == level)
                    .collect();
                let netlist = self.netlist.is_some() && !self.words;
                let most = if netlist || LIGHT.contains(&model.name.as_str()) {
                    1
                } else {
                    3
                };
                let mut compiler = self.compiler(level.min(most));
                objects.extend(
                    compiler
                        .include(&model.dir)
                        .files(chosen)
                        .compile_intermediates(),
                );
            };
            level(3);
            level(1);
            level(0);
            self.compiler(2).objects(objects).compile(&library);
            fs::write(stamp, value).expect("a stamp in OUT_DIR");
        }
        self.link(&library);
    }

    /// Compiles Verilator's runtime and the hooks that take its messages.
    fn runtime(&self) {
        let library = "tptvl_runtime";
        let mut names = vec!["verilated.cpp", "verilated_threads.cpp"];
        if cfg!(feature = "trace") {
            names.push("verilated_fst_c.cpp");
        }
        if cfg!(feature = "cov") {
            names.push("verilated_cov.cpp");
        }
        let mut sources: Vec<PathBuf> = names.iter().map(|name| self.include.join(name)).collect();
        let hooks = self.dir.join("cpp/hooks.h");
        sources.push(self.dir.join("cpp/hooks.cpp"));
        let mut all = sources.clone();
        all.push(hooks.clone());
        let (fresh, stamp, value) = self.fresh(library, &all);
        if !fresh {
            let _ = fs::remove_file(&stamp);
            self.compiler(2)
                .flag("-include")
                .flag(hooks.to_str().expect("a path in UTF-8"))
                .include(self.dir.join("cpp"))
                .files(&sources)
                .compile(library);
            fs::write(stamp, value).expect("a stamp in OUT_DIR");
        }
        self.link(library);
        let unix = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os != "macos");
        println!(
            "cargo:rustc-link-lib={}",
            if unix { "stdc++" } else { "c++" }
        );
    }

    /// Writes and compiles the bridge: cxx's part, one glue file per model, the tables of models.
    fn bridge(&self, configs: &[Config], models: &[Model], board: &Board) {
        let mut compiler = cxx_build::bridge("src/lib.rs");
        compiler
            .std("c++17")
            .opt_level(2)
            .debug(false)
            .warnings(false);
        self.prepare(&mut compiler);
        compiler
            .include(self.dir.join("cpp"))
            .file(self.dir.join("cpp/model.cpp"));
        let mut registry = Registry::default();
        for model in models {
            let path = self.out.join(format!("glue_{}.cpp", model.name));
            fs::write(&path, glue(model)).expect("a file in OUT_DIR");
            compiler.include(&model.dir).file(path);
            registry.add(model);
        }
        let path = self.out.join("registry.cpp");
        fs::write(&path, registry.cpp()).expect("a file in OUT_DIR");
        compiler.file(path);
        compiler.compile("tptvl_bridge");
        self.link("tptvl_bridge");
        let text = tables(configs, models, board);
        fs::write(self.out.join("tables.rs"), text).expect("a file in OUT_DIR");
    }
}

/// `VERILATOR`, or the one in `.venv` here or in a folder above, or the one on `PATH`. The second
/// value says whether a `VERILATOR_ROOT` of the user's belongs to it.
fn find_verilator(root: &Path) -> (PathBuf, bool) {
    if let Some(path) = env::var_os("VERILATOR").filter(|path| !path.is_empty()) {
        return (PathBuf::from(path), true);
    }
    for folder in root.ancestors() {
        let Ok(entries) = fs::read_dir(folder.join(".venv/lib")) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path().join("site-packages/verilator/bin/verilator");
            if path.exists() {
                return (path, false);
            }
        }
    }
    (PathBuf::from("verilator"), true)
}

fn text_of(command: &mut Command, program: &Path) -> String {
    match command.output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        Ok(output) => panic!(
            "{} does not work: {}\nSet VERILATOR to a Verilator {}.{:03} or newer, or run `make setup`.",
            program.display(),
            String::from_utf8_lossy(&output.stderr),
            OLDEST.0,
            OLDEST.1
        ),
        Err(error) => panic!(
            "cannot run {}: {error}\nSet VERILATOR to a Verilator {}.{:03} or newer, or run `make setup`.",
            program.display(),
            OLDEST.0,
            OLDEST.1
        ),
    }
}

/// The version as text. Some builds have no number in `--version`; then their header has one.
fn check_version(verilator: &Path, include: &Path) -> String {
    let text = text_of(Command::new(verilator).arg("--version"), verilator);
    let header = fs::read_to_string(include.join("verilated_config.h")).unwrap_or_default();
    let from_header = header
        .lines()
        .find_map(|line| line.trim().strip_prefix("#define VERILATOR_VERSION "))
        .unwrap_or_default();
    let number = parse_version(&text).or_else(|| parse_version(from_header));
    match number {
        Some(found) if found >= OLDEST => {}
        Some(found) => panic!(
            "{} is Verilator {}.{:03}; {}.{:03} or newer is needed. \
             Set VERILATOR to a newer one, or run `make setup`.",
            verilator.display(),
            found.0,
            found.1,
            OLDEST.0,
            OLDEST.1
        ),
        None => println!(
            "cargo:warning=the version of {} is unknown ({})",
            verilator.display(),
            text.trim()
        ),
    }
    format!("{text}{header}")
}

/// The first `major.minor` in a text.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .find_map(|word| {
            let (major, minor) = word.split_once('.')?;
            let minor = minor.split('.').next()?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        })
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// How far a generated file is optimised; 4: it is not compiled.
fn level_of(path: &Path) -> u32 {
    let name = name_of(path);
    if name.contains("__ALL") {
        4
    } else if name.contains("__Slow") {
        0
    } else if name.contains("__Trace") {
        1
    } else {
        3
    }
}

fn list(dir: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .expect("what Verilator wrote")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|e| extensions.iter().any(|x| e == *x))
        })
        .collect();
    files.sort();
    files
}

/// `[name]` and `Parameter = number` lines.
fn read_configs(path: &Path) -> Vec<Config> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut configs: Vec<Config> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let wrong =
            |what: &str| -> ! { panic!("{}:{}: {what}: `{line}`", path.display(), number + 1) };
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            configs.push(Config {
                name: name.trim().to_owned(),
                parameters: Vec::new(),
                defaults: Vec::new(),
            });
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            wrong("expected [name] or Parameter = number")
        };
        let Ok(value) = value.trim().parse() else {
            wrong("expected a number")
        };
        match configs.last_mut() {
            Some(config) => config.parameters.push((name.trim().to_owned(), value)),
            None => wrong("expected [name] first"),
        }
    }
    configs
}

/// Reads the port lines `VL_IN8(&name,msb,lsb);`, `VL_OUTW(&name,msb,lsb,words);`.
fn read_ports(header: &str) -> Vec<Port> {
    let mut ports = Vec::new();
    for line in header.lines() {
        let line = line.trim();
        let input = line.starts_with("VL_IN");
        if !input && !line.starts_with("VL_OUT") {
            continue;
        }
        let Some((_, rest)) = line.split_once('(') else {
            continue;
        };
        let Some((inside, _)) = rest.split_once(')') else {
            continue;
        };
        let mut parts = inside.split(',').map(str::trim);
        let (Some(name), Some(msb), Some(lsb)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (Ok(msb), Ok(lsb)) = (msb.parse::<usize>(), lsb.parse::<usize>()) else {
            continue;
        };
        ports.push(Port {
            name: name.trim_start_matches('&').to_owned(),
            input,
            width: msb - lsb + 1,
        });
    }
    ports
}

/// Functions that make models, by name.
#[derive(Default)]
struct Registry {
    tops: Vec<String>,
    flats: Vec<String>,
}

impl Registry {
    fn add(&mut self, model: &Model) {
        let list = if model.flat {
            &mut self.flats
        } else {
            &mut self.tops
        };
        list.push(model.name.clone());
    }

    fn cpp(&self) -> String {
        let mut text = String::from("#include \"tpt-verilated/cpp/model.h\"\nnamespace tpt {\n");
        for (base, maker, names) in [
            ("TopModel", "new_top", &self.tops),
            ("FlatModel", "new_flat", &self.flats),
        ] {
            for name in names {
                writeln!(text, "std::unique_ptr<{base}> make_{name}(uint32_t seed);").unwrap();
            }
            writeln!(
                text,
                "std::unique_ptr<{base}> {maker}(rust::Str name, uint32_t seed) {{"
            )
            .unwrap();
            for name in names {
                writeln!(text, "  if (name == \"{name}\") return make_{name}(seed);").unwrap();
            }
            text.push_str("  (void)name;\n  (void)seed;\n  return nullptr;\n}\n");
        }
        text.push_str("}  // namespace tpt\n");
        text
    }
}

/// The C++ file that fits one Verilated class behind the bridge.
fn glue(model: &Model) -> String {
    let Model {
        name,
        class,
        clients,
        ..
    } = model;
    let mut text = format!("#include \"{class}.h\"\n#include \"glue.h\"\nnamespace tpt {{\n");
    if !model.flat {
        writeln!(
            text,
            "std::unique_ptr<TopModel> make_{name}(uint32_t seed) {{\n  \
             return std::make_unique<Top<{class}, {clients}>>(seed);\n}}"
        )
        .unwrap();
    } else {
        writeln!(
            text,
            "namespace {{\nclass Flat final : public Holder<{class}, FlatModel> {{\n public:\n  \
             using Holder::Holder;\n  \
             bool tick_words(rust::Slice<const uint32_t> in, rust::Slice<uint32_t> out) override {{\n    \
             begin();"
        )
        .unwrap();
        let mut word = 0;
        for port in model.ports.iter().filter(|p| p.input && p.name != "clk_i") {
            writeln!(
                text,
                "    put_bits(model_->{}, 0, {}, in.data() + {word});",
                port.name, port.width
            )
            .unwrap();
            word += port.words();
        }
        text.push_str("    half(0);\n");
        word = 0;
        for port in model.ports.iter().filter(|p| !p.input) {
            writeln!(
                text,
                "    get_bits(model_->{}, 0, {}, out.data() + {word});",
                port.name, port.width
            )
            .unwrap();
            word += port.words();
        }
        writeln!(
            text,
            "    half(1);\n    return end();\n  }}\n}};\n}}  // namespace\n\
             std::unique_ptr<FlatModel> make_{name}(uint32_t seed) {{\n  \
             return std::make_unique<Flat>(seed);\n}}"
        )
        .unwrap();
    }
    text.push_str("}  // namespace tpt\n");
    text
}

/// Rust tables: sizes of the configurations, ports of the flat models.
fn tables(configs: &[Config], models: &[Model], board: &Board) -> String {
    let Board { clock_hz, baud, .. } = board;
    let mut text = format!(
        "/// The model `board`.\npub const BOARD: Board = \
         Board {{ clock_hz: {clock_hz}, baud: {baud} }};\n"
    );
    text.push_str("const SIZES: &[(&str, Sizes)] = &[\n");
    for config in configs {
        writeln!(
            text,
            "    ({:?}, Sizes {{ clients: {}, lanes: {}, contexts: {}, mpt_sets: {}, mpt_ways: {}, mtt_sets: {}, \
             mtt_ways: {}, dir_sets: {}, axi_bytes: {}, max_levels: {}, queues: {}, checked: {}, \
             fault_slots: {}, host_windows: {}, partitions: {}, guess_alarm: {}, \
             alarm_pds: {}, refusal_time: {}, fences: {}, built: {} }}),",
            config.name,
            config.clients(),
            config.get("Lanes"),
            config.get("NumContexts"),
            config.get("MptSets"),
            config.get("MptWays"),
            config.get("MttSets"),
            config.get("MttWays"),
            config.get("DirSets"),
            config.get("AxiDataW") / 8,
            config.get("MaxLevels"),
            config.get("CmdQueue") != 0,
            config.get("MttChecked") != 0,
            // Each lane has its own.
            config.get("FaultSlots") * config.get("Lanes"),
            config.get("NumWindows"),
            config.get("Partitions"),
            config.get("GuessAlarm") != 0,
            config.get("AlarmPds"),
            config.get("RefusalTime") != 0,
            config.get("FenceDepth"),
            models.iter().any(|m| !m.flat && m.name == config.name),
        )
        .unwrap();
    }
    text.push_str("];\nconst FLAT_PORTS: &[(&str, &[Port])] = &[\n");
    for model in models.iter().filter(|m| m.flat) {
        writeln!(text, "    ({:?}, &[", model.name).unwrap();
        let (mut in_word, mut out_word) = (0, 0);
        for port in model.ports.iter().filter(|p| p.name != "clk_i") {
            let word = if port.input {
                &mut in_word
            } else {
                &mut out_word
            };
            writeln!(
                text,
                "        Port {{ name: {:?}, input: {}, width: {}, word: {} }},",
                port.name, port.input, port.width, word
            )
            .unwrap();
            *word += port.words();
        }
        text.push_str("    ]),\n");
    }
    text.push_str("];\n");
    text
}

// SPDX-License-Identifier: Apache-2.0
//! The bridge itself: wide ports, failed assertions, waves.

use tpt_verilated::{DutError, DutOptions, FlatDut};

fn counter(options: &DutOptions) -> FlatDut {
    let mut dut = FlatDut::new("tb_assert", options).expect("part of every build");
    for _ in 0..3 {
        dut.tick().expect("reset");
    }
    let reset = dut.port("rst_ni");
    dut.set_u64(reset, 1);
    dut
}

#[test]
fn wide_ports_are_carried_whole() {
    let mut dut = counter(&DutOptions {
        seed: 7,
        ..Default::default()
    });
    let (step, count) = (dut.port("step_i"), dut.port("count_o"));
    dut.set_u64(step, 200);
    let mut sum = 0u64;
    for _ in 0..1000 {
        dut.tick().expect("no assertion fails");
        assert_eq!(dut.get(count), &[sum as u32, (sum >> 32) as u32, 0]);
        sum += 200;
    }
    assert_eq!((count.width(), step.width()), (96, 8));
}

#[test]
fn a_failed_assertion_is_an_error_with_clock_and_text() {
    let mut dut = counter(&DutOptions::default());
    let step = dut.port("step_i");
    dut.set_u64(step, 12);
    dut.tick().expect("12 is allowed");
    dut.set_u64(step, 13);
    let clock = dut.clock();
    let Err(DutError::Assertion { clock: at, text }) = dut.tick() else {
        panic!("the assertion StepNot13 must fail");
    };
    assert_eq!(at, clock);
    assert!(
        text.contains("StepNot13") && text.contains("assertion failed"),
        "{text}"
    );
    // It is reported again as long as it fails, and only that long; other models see nothing.
    assert!(dut.tick().is_err());
    counter(&DutOptions::default())
        .tick()
        .expect("another model");
    dut.set_u64(step, 1);
    dut.tick().expect("the cause is gone");
}

#[test]
fn assertions_are_off_during_reset() {
    let mut dut = FlatDut::new("tb_assert", &DutOptions::default()).expect("built");
    let step = dut.port("step_i");
    dut.set_u64(step, 13);
    for _ in 0..5 {
        dut.tick().expect("disabled while rst_ni is low");
    }
}

#[test]
fn unknown_model_is_an_error() {
    let error = FlatDut::new("tb_nothing", &DutOptions::default()).err();
    assert_eq!(error, Some(DutError::NoModel("tb_nothing".to_owned())));
}

#[cfg(feature = "trace")]
#[test]
fn waves_are_written() {
    let path = std::env::temp_dir().join(format!("tpt-bridge-{}.fst", std::process::id()));
    let mut dut = counter(&DutOptions {
        waves: Some(path.clone()),
        ..Default::default()
    });
    for _ in 0..100 {
        dut.tick().expect("runs");
    }
    drop(dut);
    let size = std::fs::metadata(&path).expect("the file").len();
    std::fs::remove_file(&path).expect("can be removed");
    assert!(size > 200, "{size} bytes");
}

// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! See `tpt_fuzz::channels`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tpt_fuzz::channels(data));

// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

#[allow(clippy::cast_lossless)]
#[allow(clippy::cast_possible_wrap)]
#[allow(clippy::cast_sign_loss)]
#[allow(clippy::derivable_impls)]
#[allow(clippy::doc_markdown)]
#[allow(clippy::identity_op)]
#[allow(clippy::inline_always)]
#[allow(clippy::let_and_return)]
#[allow(clippy::trivially_copy_pass_by_ref)]
#[allow(clippy::unnecessary_cast)]
#[cfg(not(doctest))]
pub mod components;

#[cfg(not(doctest))]
pub use components::tpt_csr::TptCsr;

/// Alias this module as the root of the generated code
mod _root {
    #[allow(unused_imports)]
    pub use super::*;
}

/// Version of PeakRDL-rust used to generate this code
pub const PEAKRDL_RUST_VERSION: &str = "0.7.4";

// Compile-time version check
#[allow(unused_comparisons)]
#[allow(clippy::absurd_extreme_comparisons)]
const _VERSION_CHECK: () = {
    use peakrdl_rust::version;
    const ERR_MSG: &str =
        "peakrdl-rust dependency must be >=0.2.0, <0.3.0. Please update your Cargo.toml.";
    ::core::assert!(version::MAJOR == 0, "{}", ERR_MSG);
    ::core::assert!(version::MINOR == 2, "{}", ERR_MSG);
    ::core::assert!(version::PATCH >= 0, "{}", ERR_MSG);
};

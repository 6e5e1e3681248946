// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! SystemRDL component definitions
#![allow(non_camel_case_types)] // needed for type normalization suffixes

use super::_root; // alias to root module of generated code

pub mod tpt_csr;

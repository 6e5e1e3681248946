// SPDX-License-Identifier: Apache-2.0
//! Golden reference of the translation and protection unit, in plain Rust

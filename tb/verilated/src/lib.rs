// SPDX-License-Identifier: Apache-2.0
//! Verilated models of the RTL through cxx, one call per clock

// SPDX-License-Identifier: Apache-2.0
//! AXI memory, scoreboard and random tests around the Verilated unit

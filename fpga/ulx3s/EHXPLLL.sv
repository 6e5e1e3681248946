// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// The PLL of the ECP5, as far as tpt_ulx3s_pll uses it: ports and parameters only, with the
/// vendor's names.
(* blackbox *)
module EHXPLLL #(
  parameter int unsigned CLKI_DIV        = 1,
  parameter int unsigned CLKFB_DIV       = 1,
  parameter int unsigned CLKOP_DIV       = 8,
  parameter int unsigned CLKOP_CPHASE    = 0,
  parameter int unsigned CLKOP_FPHASE    = 0,
  parameter              CLKOP_ENABLE    = "ENABLED",
  parameter              FEEDBK_PATH     = "CLKOP",
  parameter              PLLRST_ENA      = "DISABLED",
  parameter              INTFB_WAKE      = "DISABLED",
  parameter              STDBY_ENABLE    = "DISABLED",
  parameter              DPHASE_SOURCE   = "DISABLED",
  parameter              OUTDIVIDER_MUXA = "DIVA"
) (
  input  logic CLKI,
  input  logic CLKFB,
  output logic CLKOP,
  output logic LOCK,
  input  logic RST,
  input  logic STDBY,
  input  logic PHASESEL0,
  input  logic PHASESEL1,
  input  logic PHASEDIR,
  input  logic PHASESTEP,
  input  logic PHASELOADREG,
  input  logic PLLWAKESYNC,
  input  logic ENCLKOP
);
endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Clock of the ULX3S: the oscillator's 25 MHz through a PLL of the ECP5.
///
/// The phase detector works at 5 MHz, the oscillator of the PLL at 600 MHz, so the clock must be a
/// multiple of 5 MHz that divides 600 MHz: 20, 25, 30, 40, 50, 60, ... MHz.
module tpt_ulx3s_pll #(
  /// Clock in MHz.
  parameter int unsigned ClkMhz = 30
) (
  input  logic clk_25mhz_i,
  output logic clk_o,
  /// The clock is stable; asynchronous.
  output logic locked_o
);

  localparam int unsigned InDiv  = 5;
  localparam int unsigned FbDiv  = ClkMhz / 5;
  localparam int unsigned OutDiv = 600 / ClkMhz;
  if (ClkMhz < 10 || ClkMhz % 5 != 0 || 600 % ClkMhz != 0) begin : g_bad_clk
    $fatal(1, "tpt_ulx3s_pll: ClkMhz must be a multiple of 5 that divides 600, at least 10");
  end

  EHXPLLL #(
    .CLKI_DIV(InDiv), .CLKFB_DIV(FbDiv), .CLKOP_DIV(OutDiv),
    .CLKOP_CPHASE(OutDiv / 2), .CLKOP_FPHASE(0), .CLKOP_ENABLE("ENABLED"),
    .FEEDBK_PATH("CLKOP"), .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"),
    .STDBY_ENABLE("DISABLED"), .DPHASE_SOURCE("DISABLED"), .OUTDIVIDER_MUXA("DIVA")
  ) u_pll (
    .CLKI        (clk_25mhz_i),
    .CLKFB       (clk_o),
    .CLKOP       (clk_o),
    .LOCK        (locked_o),
    .RST         (1'b0),
    .STDBY       (1'b0),
    .PHASESEL0   (1'b0),
    .PHASESEL1   (1'b0),
    .PHASEDIR    (1'b1),
    .PHASESTEP   (1'b1),
    .PHASELOADREG(1'b1),
    .PLLWAKESYNC (1'b0),
    .ENCLKOP     (1'b0)
  );

endmodule

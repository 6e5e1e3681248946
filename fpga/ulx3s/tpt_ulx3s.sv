// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Top of the ULX3S (Lattice ECP5): clock, reset and pins around tpt_board.
module tpt_ulx3s #(
  /// Clock of the unit in MHz, see tpt_ulx3s_pll.
  parameter int unsigned ClkMhz      = 30,
  /// See tpt_board.
  parameter int unsigned Baud        = 3_000_000,
  parameter int unsigned RamBytes    = 131_072,
  parameter int unsigned NumClients  = 2,
  parameter int unsigned NumContexts = 16,
  parameter int unsigned MptSets     = 32,
  parameter int unsigned MptWays     = 2,
  parameter int unsigned MttSets     = 32,
  parameter int unsigned MttWays     = 4,
  parameter int unsigned DirSets     = 16,
  parameter int unsigned AxiDataW    = 128,
  parameter int unsigned MergeSegs   = 1,
  parameter int unsigned MttChecked  = 1,
  parameter int unsigned FaultSlots  = 4,
  parameter int unsigned NumWindows  = 4
) (
  /// Oscillator.
  input  logic       clk_25mhz_i,
  /// Line from and to the USB bridge.
  input  logic       ftdi_txd_i,
  output logic       ftdi_rxd_o,
  /// Button: resets everything while pressed.
  input  logic       btn_fire1_i,
  /// Lamps, see tpt_board.
  output logic [7:0] led_o,
  /// Held high: otherwise the ESP32 takes the board over.
  output logic       wifi_gpio0_o
);

  logic clk, locked;
  tpt_ulx3s_pll #(.ClkMhz(ClkMhz)) u_pll (.clk_25mhz_i, .clk_o(clk), .locked_o(locked));

  // Reset: from the PLL or the button through two registers, and 255 clocks more.
  logic [1:0] run_q;
  logic [7:0] wait_q;
  logic       rst_nq;
  initial begin
    run_q  = '0;
    wait_q = '0;
    rst_nq = 1'b0;
  end
  always_ff @(posedge clk) begin
    run_q  <= {run_q[0], locked && !btn_fire1_i};
    wait_q <= !run_q[1] ? '0 : ((&wait_q) ? wait_q : (wait_q + 8'd1));
    rst_nq <= &wait_q && run_q[1];
  end

  assign wifi_gpio0_o = 1'b1;

  tpt_board #(
    .ClkHz(ClkMhz * 1_000_000), .Baud(Baud), .RamBytes(RamBytes), .NumClients(NumClients),
    .NumContexts(NumContexts), .MptSets(MptSets), .MptWays(MptWays), .MttSets(MttSets),
    .MttWays(MttWays), .DirSets(DirSets), .AxiDataW(AxiDataW), .MergeSegs(MergeSegs),
    .MttChecked(MttChecked), .FaultSlots(FaultSlots), .NumWindows(NumWindows)
  ) u_board (
    .clk_i (clk),
    .rst_ni(rst_nq),
    .rx_i  (ftdi_txd_i),
    .tx_o  (ftdi_rxd_o),
    .led_o
  );

endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Transmitter of an asynchronous serial line: 8 bits, no parity, one stop bit. The bit clock is
/// fractional (see tpt_uart_rx); no edge is more than a clock late.
module tpt_uart_tx #(
  /// Clock in Hz.
  parameter int unsigned ClkHz = 30_000_000,
  /// Bits per second, at most an eighth of the clock.
  parameter int unsigned Baud  = 3_000_000
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Byte to send.
  input  logic       valid_i,
  output logic       ready_o,
  input  logic [7:0] data_i,
  /// The line.
  output logic       tx_o
);

  if (Baud == 0 || ClkHz / 8 < Baud) begin : g_bad_baud
    $fatal(1, "tpt_uart_tx: Baud must be 1 to ClkHz / 8");
  end

  localparam logic [15:0] Step = 16'((64'(Baud) * 65536 + 64'(ClkHz) / 2) / 64'(ClkHz));

  logic [16:0] phase_q;  // bit 16: a bit is over
  logic [3:0]  left_q;   // bits that are still to be sent
  logic [8:0]  shift_q;  // data, start bit lowest
  logic        tx_q;

  assign ready_o = left_q == 4'd0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q  <= 4'd0;
      phase_q <= '0;
      shift_q <= '1;
      tx_q    <= 1'b1;
    end else if (left_q == 4'd0) begin
      // A stop bit is a clock longer than the others.
      if (valid_i) begin
        left_q  <= 4'd10;
        shift_q <= {1'b1, data_i};
        tx_q    <= 1'b0;
      end
      phase_q <= {1'b0, valid_i ? Step : 16'd0};
    end else begin
      phase_q <= {1'b0, phase_q[15:0]} + {1'b0, Step};
      if (phase_q[16]) begin
        left_q  <= left_q - 4'd1;
        tx_q    <= shift_q[0];
        shift_q <= {1'b1, shift_q[8:1]};
      end
    end
  end
  assign tx_o = tx_q;

  `TPT_ASSERT(LeftInRange_A, left_q <= 4'd10)
  `TPT_ASSERT(IdleIsHigh_A, left_q != 4'd0 || tx_q)

endmodule

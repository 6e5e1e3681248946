// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Receiver of an asynchronous serial line: 8 bits, no parity, one stop bit.
///
/// The line is taken over by two registers; a bit is the majority of three samples around its
/// middle. The bit clock is fractional: a phase of 16 bits that starts anew at every start bit, so
/// nothing adds up over a byte. At 10 clocks per bit and more it takes lines that are 2 % off.
/// A byte without a stop bit is reported, and the receiver waits for the line to be idle again.
module tpt_uart_rx #(
  /// Clock in Hz.
  parameter int unsigned ClkHz = 30_000_000,
  /// Bits per second, at most an eighth of the clock.
  parameter int unsigned Baud  = 3_000_000
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  /// The line, asynchronous.
  input  logic       rx_i,
  /// A byte, for one clock.
  output logic       valid_o,
  output logic [7:0] data_o,
  /// There was no stop bit, for one clock.
  output logic       error_o
);

  if (Baud == 0 || ClkHz / 8 < Baud) begin : g_bad_baud
    $fatal(1, "tpt_uart_rx: Baud must be 1 to ClkHz / 8");
  end

  localparam logic [15:0] Step = 16'((64'(Baud) * 65536 + 64'(ClkHz) / 2) / 64'(ClkHz));

  logic [1:0] sync_q;
  logic [2:0] last_q;
  logic       bit_value;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sync_q <= '1;
      last_q <= '1;
    end else begin
      sync_q <= {sync_q[0], rx_i};
      last_q <= {last_q[1:0], sync_q[1]};
    end
  end
  assign bit_value = (last_q[0] && last_q[1]) || (last_q[0] && last_q[2]) ||
                     (last_q[1] && last_q[2]);

  typedef enum logic [1:0] { StIdle, StBits, StBreak } state_e;
  state_e      state_q;
  logic [16:0] phase_q;  // bit 16: the middle of a bit
  logic [3:0]  count_q;  // bits taken: start, 8 data, stop
  logic [7:0]  data_q;
  logic        valid_q, error_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      phase_q <= '0;
      count_q <= '0;
      valid_q <= 1'b0;
      error_q <= 1'b0;
    end else begin
      valid_q <= 1'b0;
      error_q <= 1'b0;
      phase_q <= {1'b0, phase_q[15:0]} + {1'b0, Step};
      unique case (state_q)
        StIdle: begin
          // By the majority, too: a needle of one clock begins nothing.
          phase_q <= 17'h08000;
          count_q <= '0;
          if (!bit_value) state_q <= StBits;
        end
        StBits: begin
          if (phase_q[16]) begin
            count_q <= count_q + 4'd1;
            if (count_q == 4'd0 && bit_value) begin
              state_q <= StIdle;  // too short for a start bit
            end else if (count_q == 4'd9) begin
              valid_q <= bit_value;
              error_q <= !bit_value;
              state_q <= bit_value ? StIdle : StBreak;
            end
          end
        end
        default: begin
          if (&last_q) state_q <= StIdle;
        end
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (phase_q[16] && count_q != 4'd9) data_q <= {bit_value, data_q[7:1]};
  end

  assign valid_o = valid_q;
  assign error_o = error_q;
  assign data_o  = data_q;

  `TPT_ASSERT(CountInRange_A, count_q <= 4'd10)
  `TPT_ASSERT(ByteOrError_A, !(valid_q && error_q))

endmodule

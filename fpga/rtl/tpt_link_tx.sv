// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Frame encoder of the link: reads a reply from its buffer, adds the CRC, stuffs it, and sends it
/// between two flags, byte by byte.
module tpt_link_tx
  import tpt_link_pkg::*;
#(
  localparam int unsigned AddrW = $clog2(LinkMaxFrame + 1)
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  /// Send so many bytes from the beginning of the buffer, for one clock while not busy.
  input  logic             start_i,
  input  logic [AddrW-1:0] len_i,
  output logic             busy_o,
  /// Read port of the buffer, one clock.
  output logic [AddrW-1:0] raddr_o,
  input  logic [7:0]       rdata_i,

  // Bytes for the line
  output logic             valid_o,
  input  logic             ready_i,
  output logic [7:0]       data_o
);

  typedef enum logic [2:0] { StIdle, StOpen, StRead, StByte, StEscaped, StClose } state_e;
  state_e           state_q;
  logic [AddrW-1:0] len_q, pos_q;
  logic [2:0]       tail_q;    // bytes of the CRC that were sent
  logic             in_tail;
  logic [31:0]      crc_q;
  logic [7:0]       value;     // the byte before stuffing
  logic             special, fire;

  assign in_tail = pos_q == len_q;
  assign value   = in_tail ? ~crc_q[7:0] : rdata_i;
  assign special = value == LinkFlag || value == LinkEscape;
  assign fire    = valid_o && ready_i;
  assign raddr_o = pos_q;
  assign busy_o  = state_q != StIdle;

  always_comb begin
    unique case (state_q)
      StByte:    data_o = special ? LinkEscape : value;
      StEscaped: data_o = value ^ LinkEscapeXor;
      default:   data_o = LinkFlag;
    endcase
  end
  assign valid_o = state_q == StOpen || state_q == StByte || state_q == StEscaped ||
                   state_q == StClose;

  logic byte_done;
  assign byte_done = fire && ((state_q == StByte && !special) || state_q == StEscaped);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      len_q   <= '0;
      pos_q   <= '0;
      tail_q  <= '0;
    end else begin
      unique case (state_q)
        StIdle: begin
          len_q  <= len_i;
          pos_q  <= '0;
          tail_q <= '0;
          if (start_i) state_q <= StOpen;
        end
        StOpen:    if (fire) state_q <= StByte;
        StRead:    state_q <= StByte;
        StByte:    if (fire && special) state_q <= StEscaped;
        StEscaped: ;
        default:   if (fire) state_q <= StIdle;
      endcase
      if (byte_done) begin
        if (in_tail) tail_q <= tail_q + 3'd1;
        else pos_q <= pos_q + 1'b1;
        state_q <= (in_tail && tail_q == 3'(LinkCrcBytes - 1)) ? StClose : StRead;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) crc_q <= LinkCrcStart;
    else if (byte_done) crc_q <= in_tail ? {8'd0, crc_q[31:8]} : link_crc(crc_q, value);
  end

  `TPT_ASSERT(TailInRange_A, tail_q <= 3'(LinkCrcBytes))
  `TPT_ASSERT(PosInRange_A, pos_q <= len_q || state_q == StIdle)
  `TPT_ASSUME(StartWhenIdle_A, !start_i || (!busy_o && len_i != '0))

endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Frame decoder of the link: takes bytes, undoes the stuffing, checks length and CRC and puts the
/// frame into a buffer, where it stays until it is released.
///
/// What is wrong is dropped and counted, each frame once: too long, a byte without a stop bit, a
/// CRC that does not fit, silence inside a frame. A frame that comes while the buffer is taken is
/// dropped, too. Every flag ends a frame and begins the next one, so the decoder is in step again
/// at the first flag. Two flags in a row hold nothing and are no error.
module tpt_link_rx
  import tpt_link_pkg::*;
#(
  /// Clocks of silence that end a frame, a power of two.
  parameter int unsigned Silence = 2 ** 20,
  localparam int unsigned AddrW  = $clog2(LinkMaxFrame + LinkCrcBytes + 1)
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  // Bytes of the line
  input  logic             valid_i,
  input  logic [7:0]       data_i,
  input  logic             error_i,

  /// A good frame is in the buffer, until it is released.
  output logic             frame_o,
  input  logic             release_i,
  /// Bytes of sequence number and payload, at least 1.
  output logic [AddrW-1:0] len_o,
  /// Read port of the buffer, one clock.
  input  logic [AddrW-1:0] raddr_i,
  output logic [7:0]       rdata_o,

  /// One clock for each frame that was dropped: damaged; good or not, while the buffer was taken.
  output logic             bad_o,
  output logic             late_o
);

  if (Silence < 2 || (Silence & (Silence - 1)) != 0) begin : g_bad_silence
    $fatal(1, "tpt_link_rx: Silence must be a power of two, at least 2");
  end

  localparam int unsigned MaxLen   = LinkMaxFrame + LinkCrcBytes;
  localparam int unsigned MinLen   = 1 + LinkCrcBytes;
  localparam int unsigned SilenceW = $clog2(Silence);

  logic                hunt_q;   // until a flag nothing counts
  logic [AddrW-1:0]    len_q;    // bytes of the frame so far
  logic [31:0]         crc_q;
  logic                escape_q; // an escape was the last byte
  logic                late_q;   // the buffer was taken when this frame began
  logic                held_q;   // there is a frame in the buffer
  logic [AddrW-1:0]    held_len_q;
  logic                bad_q, lost_q;
  logic [SilenceW-1:0] quiet_q;
  logic                flag, escape, silent, good, store;
  logic [7:0]          data;

  assign flag   = valid_i && data_i == LinkFlag;
  assign escape = valid_i && data_i == LinkEscape;
  assign data   = escape_q ? (data_i ^ LinkEscapeXor) : data_i;
  assign silent = &quiet_q && !valid_i;
  assign good   = len_q >= AddrW'(MinLen) && crc_q == LinkCrcGood && !escape_q;
  assign store  = valid_i && !flag && !escape && !hunt_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hunt_q   <= 1'b1;
      len_q    <= '0;
      escape_q <= 1'b0;
      late_q   <= 1'b0;
      held_q   <= 1'b0;
      bad_q    <= 1'b0;
      lost_q   <= 1'b0;
      quiet_q  <= '0;
    end else begin
      bad_q  <= 1'b0;
      lost_q <= 1'b0;
      if (release_i) held_q <= 1'b0;
      quiet_q <= (valid_i || len_q == '0) ? '0 : (quiet_q + 1'b1);
      if (flag) begin
        if (!hunt_q && len_q != '0) begin
          if (late_q) lost_q <= 1'b1;
          else if (good) held_q <= 1'b1;
          else bad_q <= 1'b1;
        end
        hunt_q   <= 1'b0;
        len_q    <= '0;
        escape_q <= 1'b0;
        late_q   <= 1'b0;
      end else if (!hunt_q && (error_i || silent)) begin
        // A byte that is lost between two frames is no frame.
        bad_q   <= len_q != '0;
        hunt_q  <= 1'b1;
        len_q   <= '0;
      end else if (escape) begin
        escape_q <= 1'b1;
      end else if (store) begin
        escape_q <= 1'b0;
        len_q    <= len_q + 1'b1;
        // The buffer is decided upon at the first byte.
        if (len_q == '0) late_q <= held_q && !release_i;
        if (len_q == AddrW'(MaxLen)) begin
          bad_q  <= !late_q;
          lost_q <= late_q;
          hunt_q <= 1'b1;
          len_q  <= '0;
        end
      end
    end
  end

  // The length of the frame in the buffer stays while later ones pass by.
  always_ff @(posedge clk_i) begin
    if (flag && !hunt_q && !late_q && good) held_len_q <= len_q - AddrW'(LinkCrcBytes);
  end
  always_ff @(posedge clk_i) begin
    if (flag) crc_q <= LinkCrcStart;
    else if (store) crc_q <= link_crc(crc_q, data);
  end

  logic we;
  assign we = store && len_q < AddrW'(MaxLen) &&
              ((len_q == '0) ? (!held_q || release_i) : !late_q);
  tpt_ram_1r1w #(.Width(8), .Depth(2 ** AddrW)) u_buffer (
    .clk_i,
    .we_i   (we),
    .waddr_i(len_q),
    .wdata_i(data),
    .raddr_i(raddr_i),
    .rdata_o(rdata_o)
  );

  assign frame_o = held_q;
  assign len_o   = held_len_q;
  assign bad_o   = bad_q;
  assign late_o  = lost_q;

  `TPT_ASSERT(LenInRange_A, len_q <= AddrW'(MaxLen))
  `TPT_ASSERT(HeldHasBytes_A, !held_q || (held_len_q != '0 && held_len_q <= AddrW'(LinkMaxFrame)))
  `TPT_ASSUME(ReleaseIsMeant_A, !release_i || held_q)

endmodule

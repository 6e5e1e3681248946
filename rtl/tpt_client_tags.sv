// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Tags of one client: which are in use, since which epoch, and whether `done` is due.
///
/// Three bits per tag in three RAMs, each with one writer: A toggles when a request is accepted, B
/// when its `done` is taken, C follows A when its last beat is handed over. A tag is in use while
/// A != B; `done` is due while also C == A. With A the epoch of acceptance is kept; the number of
/// requests without `done` is counted per epoch, which is all the fence needs.
///
/// * accept (`acc_*`): one clock later `chk_busy_o` tells that the tag was already in use; then
///   the request is not counted and the tag's state stays as it was.
/// * done (`done_*`): one clock later the tag is released, or `ev_bad_done_o` reports a `done` that
///   is unknown, early or the second one.
module tpt_client_tags
  import tpt_pkg::*;
(
  input  logic            clk_i,
  input  logic            rst_ni,
  /// Release all tags (2^TagW clocks); `ready_o` is low meanwhile.
  input  logic            clear_i,
  output logic            ready_o,
  // Accept
  input  logic            acc_valid_i,
  input  logic [TagW-1:0] acc_tag_i,
  input  logic            epoch_i,
  output logic            chk_busy_o,   // one clock after acc_valid_i
  output logic            chk_bit_o,    // the request's A bit, to be given back with its last beat
  // Last beat handed over
  input  logic            last_valid_i,
  input  logic [TagW-1:0] last_tag_i,
  input  logic            last_bit_i,
  // Done
  input  logic            done_valid_i,
  input  logic [TagW-1:0] done_tag_i,
  output logic            ev_bad_done_o,
  // Requests without done, per epoch
  output logic [1:0]      empty_o
);

  localparam int unsigned NumTags = 1 << TagW;

  // Clearing
  logic            clr_q;
  logic [TagW-1:0] clr_tag_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      clr_q     <= 1'b1;
      clr_tag_q <= '0;
    end else if (clr_q) begin
      clr_tag_q <= clr_tag_q + 1'b1;
      if (&clr_tag_q) clr_q <= 1'b0;
    end
  end
  assign ready_o = !clr_q;

  // Write ports
  logic            a_we, b_we, c_we;
  logic [TagW-1:0] a_tag, b_tag, c_tag;
  logic            a_bit, a_epoch, b_bit, c_bit;

  // Accept: t1 is the clock after acceptance
  logic            t1_valid_q, t1_epoch_q, t1_afwd_q, t1_abit_q, t1_bfwd_q, t1_bbit_q;
  logic [TagW-1:0] t1_tag_q;
  logic            acc_a, acc_a_epoch, acc_b, t1_a, t1_b;

  // Done: d1 is the clock after the done
  logic            d1_valid_q, d1_bfwd_q, d1_bbit_q, d1_cfwd_q, d1_cbit_q;
  logic [TagW-1:0] d1_tag_q;
  logic            dn_a, dn_a_epoch, dn_b, dn_c, d1_b, d1_c, d1_ok;

  tpt_ram_1r1w #(.Width(2), .Depth(NumTags)) u_a_acc (
    .clk_i, .we_i(a_we), .waddr_i(a_tag), .wdata_i({a_epoch, a_bit}),
    .raddr_i(acc_tag_i), .rdata_o({acc_a_epoch, acc_a})
  );
  tpt_ram_1r1w #(.Width(1), .Depth(NumTags)) u_b_acc (
    .clk_i, .we_i(b_we), .waddr_i(b_tag), .wdata_i(b_bit),
    .raddr_i(acc_tag_i), .rdata_o(acc_b)
  );
  tpt_ram_1r1w #(.Width(2), .Depth(NumTags)) u_a_dn (
    .clk_i, .we_i(a_we), .waddr_i(a_tag), .wdata_i({a_epoch, a_bit}),
    .raddr_i(done_tag_i), .rdata_o({dn_a_epoch, dn_a})
  );
  tpt_ram_1r1w #(.Width(1), .Depth(NumTags)) u_b_dn (
    .clk_i, .we_i(b_we), .waddr_i(b_tag), .wdata_i(b_bit),
    .raddr_i(done_tag_i), .rdata_o(dn_b)
  );
  tpt_ram_1r1w #(.Width(1), .Depth(NumTags)) u_c_dn (
    .clk_i, .we_i(c_we), .waddr_i(c_tag), .wdata_i(c_bit),
    .raddr_i(done_tag_i), .rdata_o(dn_c)
  );

  // A write in the clock of the read is not seen by the RAM: forwarded.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      t1_valid_q <= 1'b0;
      d1_valid_q <= 1'b0;
    end else begin
      t1_valid_q <= acc_valid_i;
      d1_valid_q <= done_valid_i;
    end
  end
  always_ff @(posedge clk_i) begin
    t1_tag_q   <= acc_tag_i;
    t1_epoch_q <= epoch_i;
    t1_afwd_q  <= a_we && a_tag == acc_tag_i;
    t1_abit_q  <= a_bit;
    t1_bfwd_q  <= b_we && b_tag == acc_tag_i;
    t1_bbit_q  <= b_bit;
    d1_tag_q   <= done_tag_i;
    d1_bfwd_q  <= b_we && b_tag == done_tag_i;
    d1_bbit_q  <= b_bit;
    d1_cfwd_q  <= c_we && c_tag == done_tag_i;
    d1_cbit_q  <= c_bit;
  end

  assign t1_a       = t1_afwd_q ? t1_abit_q : acc_a;
  assign t1_b       = t1_bfwd_q ? t1_bbit_q : acc_b;
  assign chk_busy_o = t1_valid_q && (t1_a != t1_b);
  assign chk_bit_o  = !t1_b;

  assign d1_b          = d1_bfwd_q ? d1_bbit_q : dn_b;
  assign d1_c          = d1_cfwd_q ? d1_cbit_q : dn_c;
  assign d1_ok         = d1_valid_q && (dn_a != d1_b) && (d1_c == dn_a);
  assign ev_bad_done_o = d1_valid_q && !d1_ok;

  always_comb begin
    a_we    = t1_valid_q && !chk_busy_o;
    a_tag   = t1_tag_q;
    a_bit   = !t1_b;
    a_epoch = t1_epoch_q;
    b_we    = d1_ok;
    b_tag   = d1_tag_q;
    b_bit   = dn_a;
    c_we    = last_valid_i;
    c_tag   = last_tag_i;
    c_bit   = last_bit_i;
    if (clr_q) begin
      a_we    = 1'b1;
      a_tag   = clr_tag_q;
      a_bit   = 1'b0;
      a_epoch = 1'b0;
      b_we    = 1'b1;
      b_tag   = clr_tag_q;
      b_bit   = 1'b0;
      c_we    = 1'b1;
      c_tag   = clr_tag_q;
      c_bit   = 1'b0;
    end
  end

  // Requests without done, by epoch: those that leave are counted a clock later.
  logic [1:0][TagW:0] cnt_q;
  logic [1:0]         busy_q, done_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clr_q) begin
      cnt_q  <= '0;
      busy_q <= '0;
      done_q <= '0;
    end else begin
      for (int unsigned e = 0; e < 2; e++) begin
        busy_q[e] <= chk_busy_o && t1_epoch_q == 1'(e);
        done_q[e] <= d1_ok && dn_a_epoch == 1'(e);
      end
      for (int unsigned e = 0; e < 2; e++) begin
        cnt_q[e] <= cnt_q[e] + (TagW + 1)'(acc_valid_i && epoch_i == 1'(e))
                             - (TagW + 1)'(busy_q[e]) - (TagW + 1)'(done_q[e]);
      end
    end
  end
  assign empty_o = {cnt_q[1] == '0, cnt_q[0] == '0};

  `TPT_ASSUME(AcceptReady_A, !acc_valid_i || ready_o)
  `TPT_ASSUME(DoneReady_A, !done_valid_i || ready_o)
  for (genvar e = 0; e < 2; e++) begin : g_count
    `TPT_ASSERT(NoUnderflow_A, !done_q[e] || cnt_q[e] != '0)
  end

  logic unused_ok;
  assign unused_ok = acc_a_epoch;

endmodule

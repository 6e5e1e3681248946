// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_rr_arb: the grant is one-hot, wanted, there if anybody wants it; who keeps asking is served
/// at the latest as the Nth. Behind a clock in which nobody asks, and until a grant is taken, the
/// grant follows from the requests alone: nothing of what was before can be told from it.
module rr_arb_formal #(
  parameter int unsigned N     = 4,
  localparam int unsigned IdxW = (N > 1) ? $clog2(N) : 1
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic [N-1:0] req_i,
  input logic         take_i
);
  `TPT_FORMAL_RESET

  logic            any;
  logic [N-1:0]    gnt;
  logic [IdxW-1:0] idx;
  tpt_rr_arb #(.N(N)) dut (
    .clk_i, .rst_ni, .req_i, .take_i, .any_o(any), .gnt_o(gnt), .idx_o(idx)
  );

  `TPT_ASSERT(Any_A, any == (req_i != '0) && any == (gnt != '0))
  `TPT_ASSERT(OneHot_A, (gnt & (gnt - 1'b1)) == '0)
  `TPT_ASSERT(Wanted_A, (gnt & ~req_i) == '0)
  `TPT_ASSERT(Number_A, !any || gnt == N'(1) << idx)

  // Where the search begins; the mask is always ones from there on.
  logic [IdxW:0] from;
  always_comb begin
    from = '0;
    for (int unsigned n = 0; n < N; n++) from = from + (IdxW + 1)'(!dut.behind_q[n]);
  end
  `TPT_ASSERT(Mask_A, dut.behind_q == N'({N{1'b1}} << from))

  // Forgets: behind a clock in which nobody asked, until a grant is taken, the lowest number from 1
  // on wins, and 0 comes last.
  logic         fresh_q, idle_q;
  logic [N-1:0] upper, lowest;
  always_ff @(posedge clk_i) begin
    idle_q  <= rst_ni && req_i == '0;
    fresh_q <= !rst_ni || req_i == '0 || (fresh_q && !take_i);
  end
  assign upper  = (req_i == N'(1)) ? req_i : req_i & ~N'(1);
  assign lowest = upper & (~upper + 1'b1);
  `TPT_ASSERT(Fresh_A, !idle_q || fresh_q)
  `TPT_ASSERT(Forgets_A, !fresh_q || (gnt == lowest && from == (IdxW + 1)'(1)))
  `TPT_COVER(Forgets_C, idle_q && gnt[N-1] && take_i)

  // How often each has been passed over while it asked, and how many can still be before it.
  for (genvar n = 0; n < N; n++) begin : g_one
    logic [IdxW:0] passed_q;
    logic [IdxW:0] ahead;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || !req_i[n]) passed_q <= '0;
      else if (take_i) passed_q <= gnt[n] ? '0 : passed_q + 1'b1;
    end
    assign ahead = (from <= (IdxW + 1)'(n)) ? (IdxW + 1)'(n) - from
                                             : (IdxW + 1)'(N) - from + (IdxW + 1)'(n);
    `TPT_ASSERT(Fair_A, passed_q < (IdxW + 1)'(N))
    `TPT_ASSERT(FairAhead_A, passed_q == '0 || passed_q + ahead < (IdxW + 1)'(N))
    `TPT_COVER(Last_C, passed_q == (IdxW + 1)'(N - 1) && gnt[n])
  end
endmodule

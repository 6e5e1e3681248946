// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Round-robin arbiter: the one that was served last comes last. Combinational grant.
///
/// Who keeps asking is served at the latest as the Nth. In a clock in which nobody asks the arbiter
/// forgets whom it served last: nothing that was done before can then be seen in its grants. So a
/// request has to stay until it is served; a user that cannot take a grant lowers `take_i` instead.
module tpt_rr_arb #(
  /// Number of requesters, 1 to 64.
  parameter int unsigned N = 2,
  localparam int unsigned IdxW = (N > 1) ? $clog2(N) : 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  /// Who wants to be served.
  input  logic [N-1:0]    req_i,
  /// The grant is taken in this clock.
  input  logic            take_i,
  /// Somebody is granted, who (one-hot), and as a number.
  output logic            any_o,
  output logic [N-1:0]    gnt_o,
  output logic [IdxW-1:0] idx_o
);

  if (N < 1 || N > 64) begin : g_bad_n
    $fatal(1, "tpt_rr_arb: N must be 1 to 64");
  end

  logic [N-1:0] behind_q;   // behind the one that was served last
  logic [N-1:0] first;      // those among whom the first one wins
  logic [N-1:0] upto;       // at or behind the winner

  assign first = (|(req_i & behind_q)) ? req_i & behind_q : req_i;
  always_comb begin
    upto = first;
    for (int unsigned k = 1; k < N; k = 2 * k) upto = upto | (upto << k);
    gnt_o = upto & ~(upto << 1);
    idx_o = '0;
    for (int unsigned n = 0; n < N; n++) begin
      if (gnt_o[n]) idx_o = idx_o | IdxW'(n);
    end
    any_o = |req_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) behind_q <= {N{1'b1}} << 1;
    else if (any_o && take_i) behind_q <= upto << 1;
    else if (!any_o) behind_q <= {N{1'b1}} << 1;
  end

  `TPT_ASSERT(GrantOneHot_A, $onehot0(gnt_o))
  `TPT_ASSERT(GrantIsWanted_A, (gnt_o & ~req_i) == '0)

endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Round-robin arbiter: the one that was served last comes last. Combinational grant.
module tpt_rr_arb #(
  /// Number of requesters, 1 to 16.
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

  if (N < 1 || N > 16) begin : g_bad_n
    $fatal(1, "tpt_rr_arb: N must be 1 to 16");
  end

  logic [IdxW-1:0] last_q;

  always_comb begin
    any_o = |req_i;
    idx_o = '0;
    // the nearest one behind `last_q` wins: the last assignment
    for (int unsigned k = N; k >= 1; k--) begin
      for (int unsigned n = 0; n < N; n++) begin
        if (n == (32'(last_q) + k) % N && req_i[n]) idx_o = IdxW'(n);
      end
    end
    for (int unsigned n = 0; n < N; n++) begin
      gnt_o[n] = any_o && idx_o == IdxW'(n);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) last_q <= '0;
    else if (any_o && take_i) last_q <= idx_o;
  end

  `TPT_ASSERT(GrantOneHot_A, $onehot0(gnt_o))
  `TPT_ASSERT(GrantIsWanted_A, (gnt_o & ~req_i) == '0)

endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Key decoder: the 24-bit index field of a key back to {role, index}.
///
///   field ─► rounds 9,8 ─► 7,6 ─► 5,4 ─► 3,2 ─► 1,0 ─► {role, index}
///            (one register behind each pair of rounds)
///
/// The index field is {role, index} under a keyed permutation, a balanced Feistel network of
/// `PermRounds` rounds on 12-bit halves with round key r = perm_secret_i[12 r +: 12]. The decoder
/// runs the rounds backwards. In plain mode the field is {role, index} itself, at the same latency.
///
/// Latency: `KeyDecLatency` = 5 clocks. Throughput: one key per clock, no stall.
/// Errors: none, every field decodes to something; the check judges it.
module tpt_key_dec import tpt_pkg::*; #(
  /// Width of the data that travels along, bits.
  parameter int unsigned PayW = 1
) (
  /// Clock, and synchronous active-low reset.
  input  logic              clk_i,
  input  logic              rst_ni,

  /// Key in: index field of the key, key[31:8].
  input  logic              valid_i,
  input  logic [23:0]       field_i,
  input  logic [PayW-1:0]   pay_i,

  /// Settings, constant while keys are inside: permutation off, and its secret.
  input  logic              plain_i,
  input  logic [127:0]      perm_secret_i,

  /// Role and index out.
  output logic              valid_o,
  output logic              role_o,
  output logic [IndexW-1:0] index_o,
  output logic [PayW-1:0]   pay_o
);

  if (PayW < 1) begin : g_bad_pay_w
    $fatal(1, "tpt_key_dec: PayW must be at least 1");
  end
  if (PermRounds != 2 * KeyDecLatency) begin : g_bad_rounds
    $fatal(1, "tpt_key_dec: two rounds per stage are built");
  end

  // A stage: two rounds backwards. rk[23:12] is the later round key, which is undone first.
  function automatic logic [23:0] unround2(logic [23:0] x, logic [23:0] rk, logic plain);
    return perm_unround(perm_unround(x, rk[23:12], plain), rk[11:0], plain);
  endfunction

  logic [KeyDecLatency-1:0]           valid_q;
  logic [KeyDecLatency-1:0][23:0]     state_q;
  logic [KeyDecLatency-1:0][PayW-1:0] pay_q;

  for (genvar s = 0; s < KeyDecLatency; s++) begin : g_stage
    localparam int unsigned FirstKey = PermRounds - 2 - 2 * s;
    logic            valid_in;
    logic [23:0]     state_in;
    logic [PayW-1:0] pay_in;

    if (s == 0) begin : g_input
      assign valid_in = valid_i;
      assign state_in = field_i;
      assign pay_in   = pay_i;
    end else begin : g_previous
      assign valid_in = valid_q[s-1];
      assign state_in = state_q[s-1];
      assign pay_in   = pay_q[s-1];
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q[s] <= 1'b0;
      else         valid_q[s] <= valid_in;
    end

    always_ff @(posedge clk_i) begin
      state_q[s] <= unround2(state_in, perm_secret_i[12*FirstKey+:24], plain_i);
      pay_q[s]   <= pay_in;
    end
  end

  assign valid_o           = valid_q[KeyDecLatency-1];
  assign {role_o, index_o} = state_q[KeyDecLatency-1];
  assign pay_o             = pay_q[KeyDecLatency-1];

  // The secret is a whole number of CSR words; the top bits are not part of any round key.
  logic unused_secret;
  assign unused_secret = ^perm_secret_i[127:12*PermRounds];

endmodule

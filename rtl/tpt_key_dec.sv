// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Key decoder: the 24-bit index field of a key back to {role, index}.
///
///   field ─► rounds 9,8 ─► 7,6 ─► 5,4 ─► 3,2 ─► 1,0 ─► {role, index}
///     │      (one register behind each pair of rounds)    ▲
///     └───────────────────────── plain ───────────────────┘
///
/// The index field is {role, index} under a keyed permutation, a balanced Feistel network of
/// `PermRounds` rounds on 12-bit halves: h[n+1] = h[n-1] ^ F(h[n] ^ rk[n]). The decoder runs it
/// backwards; round key r is perm_secret_i[12 r +: 12].
///
/// Inside, every half is kept with the round key that F is going to see already added, so that a
/// round is S-box and one sum, and what a round adds is the sum of two round keys. These sums are
/// registered: the secret does not change while keys are inside.
///
/// In plain mode the field is {role, index} itself, at the same latency.
///
/// Latency: `KeyDecLatency` = 5 clocks; 1, 2 and 10 work as well. Throughput: one key per clock, no
/// stall.
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

  /// Settings: permutation off, and its secret. Constant from a clock before the first key until
  /// the last one is out.
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
  localparam int unsigned RoundsPerStage = PermRounds / KeyDecLatency;
  if (RoundsPerStage * KeyDecLatency != PermRounds) begin : g_bad_latency
    $fatal(1, "tpt_key_dec: KeyDecLatency must divide PermRounds");
  end

  // ---------------------------------------------------------------------------------------------
  // Round keys
  // ---------------------------------------------------------------------------------------------
  // Round key of step n (0 is the first that is undone); none before the first and after the last.
  function automatic logic [11:0] step_key(logic [12*PermRounds-1:0] secret, int n);
    if ((n < 0) || (n >= int'(PermRounds))) return 12'd0;
    return secret[12*(int'(PermRounds) - 1 - n)+:12];
  endfunction

  logic [12*PermRounds-1:0]    secret;
  logic [PermRounds-1:0][11:0] delta_q;  // what step n adds
  logic [11:0]                 first_q;  // key of the first step, for the field's upper half
  logic [11:0]                 last_q;   // key of the last step, to be taken off at the end

  assign secret = perm_secret_i[12*PermRounds-1:0];

  always_ff @(posedge clk_i) begin
    first_q <= step_key(secret, 0);
    last_q  <= step_key(secret, int'(PermRounds) - 1);
    for (int n = 0; n < int'(PermRounds); n++) begin
      // Takes off the key that the older half carries and puts on the one of the next step.
      delta_q[n] <= step_key(secret, n - 1) ^ step_key(secret, n + 1);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stages
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic [11:0]     older;  // h[n-1], with the key of step n - 1
    logic [11:0]     newer;  // h[n], with the key of step n
    logic [23:0]     field;  // for plain mode
    logic [PayW-1:0] pay;
  } stage_t;

  logic   [KeyDecLatency-1:0] valid_q;
  stage_t [KeyDecLatency-1:0] stage_q;

  for (genvar s = 0; s < KeyDecLatency; s++) begin : g_stage
    logic   valid_in;
    stage_t in, out;

    if (s == 0) begin : g_input
      assign valid_in = valid_i;
      assign in       = '{older: field_i[11:0], newer: field_i[23:12] ^ first_q,
                          field: field_i, pay: pay_i};
    end else begin : g_previous
      assign valid_in = valid_q[s-1];
      assign in       = stage_q[s-1];
    end

    always_comb begin
      out = in;
      for (int unsigned r = 0; r < RoundsPerStage; r++) begin
        {out.older, out.newer} =
            {out.newer, out.older ^ perm_f(out.newer) ^ delta_q[RoundsPerStage*s+r]};
      end
      if (s == KeyDecLatency - 1) begin
        out.older ^= last_q;
        if (plain_i) {out.newer, out.older} = in.field;
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q[s] <= 1'b0;
      else         valid_q[s] <= valid_in;
    end

    always_ff @(posedge clk_i) stage_q[s] <= out;
  end

  assign valid_o           = valid_q[KeyDecLatency-1];
  assign {role_o, index_o} = {stage_q[KeyDecLatency-1].newer, stage_q[KeyDecLatency-1].older};
  assign pay_o             = stage_q[KeyDecLatency-1].pay;

  // The secret is a whole number of CSR words; the top bits are not part of any round key.
  logic unused_secret;
  assign unused_secret = ^perm_secret_i[127:12*PermRounds];
  logic unused_field;
  assign unused_field = ^stage_q[KeyDecLatency-1].field;

endmodule

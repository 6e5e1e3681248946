// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_key_dec: what the permutation made of {role, index} comes out as that role and index, for
/// every secret and every stream of keys. The halves of each stage are compared with those that the
/// permutation went through, so that each step needs two rounds only.
module key_dec_formal import tpt_pkg::*; #(
  parameter bit Plain = 1'b0
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        valid_i,
  input logic [23:0] x_i,       // role and index
  input logic [3:0]  pay_i,
  input logic [127:0] secret_i
);
  `TPT_FORMAL_RESET

  logic [127:0] secret_q;       // any value, the same for ever
  always_ff @(posedge clk_i) secret_q <= secret_i;
  always @(posedge clk_i) begin SecretConstant_A: assume (!init_q || secret_i == secret_q); end

  // Halves of the permutation, h[n+1] = h[n-1] ^ F(h[n] ^ rk[n-1]).
  typedef logic [PermRounds+1:0][11:0] halves_t;
  function automatic halves_t halves(logic [23:0] x, logic [127:0] secret);
    halves_t h;
    h[0] = x[23:12];
    h[1] = x[11:0];
    for (int unsigned r = 0; r < PermRounds; r++) begin
      h[r+2] = h[r] ^ perm_f(h[r+1] ^ secret[12*r+:12]);
    end
    return h;
  endfunction
  function automatic logic [11:0] round_key(logic [127:0] secret, int r);
    return (r < 0 || r >= int'(PermRounds)) ? 12'd0 : secret[12*r+:12];
  endfunction

  halves_t     now;
  logic [23:0] field, chain;
  assign now   = halves(x_i, secret_i);
  assign field = Plain ? x_i : {now[PermRounds], now[PermRounds+1]};
  // The same as the rounds that the key generator makes, in both modes.
  always_comb begin
    chain = x_i;
    for (int unsigned r = 0; r < PermRounds; r++) begin
      chain = perm_round(chain, secret_i[12*r+:12], Plain);
    end
  end

  logic              valid, role;
  logic [IndexW-1:0] index;
  logic [3:0]        pay;
  tpt_key_dec #(.PayW(4)) dut (
    .clk_i, .rst_ni, .valid_i, .field_i(field), .pay_i, .plain_i(Plain),
    .perm_secret_i(secret_i), .valid_o(valid), .role_o(role), .index_o(index), .pay_o(pay)
  );

  // What is in each stage, and the halves that its key went through.
  logic    [KeyDecLatency-1:0]       valid_q;
  logic    [KeyDecLatency-1:0][23:0] x_q;
  logic    [KeyDecLatency-1:0][3:0]  pay_q;
  halves_t [KeyDecLatency-1:0]       h_q;
  always_ff @(posedge clk_i) begin
    // the registered sums of round keys are there from the second clock on
    if (!rst_ni || !init_q) valid_q <= '0;
    else valid_q <= {valid_q[KeyDecLatency-2:0], valid_i};
    x_q   <= {x_q[KeyDecLatency-2:0], x_i};
    pay_q <= {pay_q[KeyDecLatency-2:0], pay_i};
    h_q   <= {h_q[KeyDecLatency-2:0], now};
  end
  `TPT_ASSERT(Sums_A, dut.first_q == round_key(secret_i, 9) &&
                      dut.last_q == round_key(secret_i, 0))
  for (genvar n = 0; n < PermRounds; n++) begin : g_sum
    `TPT_ASSERT(Delta_A, dut.delta_q[n] == (round_key(secret_i, 10 - n) ^
                                            round_key(secret_i, 8 - n)))
  end
  `TPT_ASSERT(Chain_A, chain == field)
  for (genvar s = 0; s < KeyDecLatency; s++) begin : g_stage
    localparam int unsigned N = 2 * (s + 1);   // rounds undone
    halves_t h;
    assign h = h_q[s];
    `TPT_ASSERT(First_A, !valid_q[s] || {h[0], h[1]} == x_q[s])
    for (genvar r = 0; r < PermRounds && !Plain; r++) begin : g_round
      `TPT_ASSERT(Round_A, !valid_q[s] ||
                  h[r+2] == (h[r] ^ perm_f(h[r+1] ^ secret_i[12*r+:12])))
    end
    `TPT_ASSERT(Valid_A, dut.valid_q[s] == valid_q[s])
    `TPT_ASSERT(Field_A, !valid_q[s] || dut.stage_q[s].field ==
                         (Plain ? x_q[s] : {h[PermRounds], h[PermRounds+1]}))
    `TPT_ASSERT(Pay_A, !valid_q[s] || dut.stage_q[s].pay == pay_q[s])
    if (s + 1 < KeyDecLatency) begin : g_inner
      `TPT_ASSERT(Halves_A, !valid_q[s] || Plain ||
                  (dut.stage_q[s].newer == (h[10-N] ^ round_key(secret_i, 9 - int'(N))) &&
                   dut.stage_q[s].older == (h[11-N] ^ round_key(secret_i, 10 - int'(N)))))
    end
  end
  `TPT_ASSERT(Decoded_A, !valid || ({role, index} == x_q[KeyDecLatency-1] &&
                                    pay == pay_q[KeyDecLatency-1]))

  `TPT_COVER(Remote_C, valid && role == RoleRemote && index == 23'd5)
  `TPT_COVER(Local_C, valid && role == RoleLocal && index == 23'd5)
  `TPT_COVER(Stream_C, valid_q == '1 && x_q[0] != x_q[1])
endmodule

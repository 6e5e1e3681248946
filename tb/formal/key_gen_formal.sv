// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_key_gen, the index fields: both fields of an index are what the permutation makes of {local,
/// index} and {remote, index}; a field that is decoded gives back role and index, and then both
/// fields of that index. For every secret; a start may come at any time.
module key_gen_formal import tpt_pkg::*; #(
  parameter bit Plain = 1'b0
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              start_i,
  input logic              decode_i,
  input logic              role_i,      // of the field that is decoded
  input logic [IndexW-1:0] index_i,     // and its index; or the index to make keys of
  input logic              reg_num_valid_i,
  input logic [GenW-1:0]   reg_num_i,
  input logic              has_remote_i,
  input logic [127:0]      secret_i,
  input logic [127:0]      tag_secret_i
);
  `TPT_FORMAL_RESET

  // A reset is three clocks long: data registers are not reset and may still be stepped in the
  // first of them, and what is known of a key that is 0 lags behind.
  logic [2:0] reset_q = 3'd0;   // the last clocks were in reset
  always_ff @(posedge clk_i) reset_q <= {reset_q[1:0], !rst_ni};
  logic [1:0] begun_q = 2'd0;
  always_ff @(posedge clk_i) if (begun_q != 2'd3) begun_q <= begun_q + 2'd1;
  always @(posedge clk_i) begin
    ResetLong_A: assume (!rst_ni || (begun_q == 2'd3 && (!reset_q[0] || reset_q == 3'd7)));
  end
  // Nobody starts in reset.
  always @(posedge clk_i) begin StartLater_A: assume (rst_ni || !start_i); end

  logic [127:0] secret_q;
  always_ff @(posedge clk_i) secret_q <= secret_i;
  always @(posedge clk_i) begin SecretConstant_A: assume (!init_q || secret_i == secret_q); end

  // Halves of the permutation.
  typedef logic [PermRounds+1:0][11:0] halves_t;
  function automatic logic [11:0] half(logic [11:0] older, logic [11:0] newer, logic [11:0] rk);
    return older ^ (Plain ? 12'd0 : perm_f(newer ^ rk));
  endfunction
  function automatic halves_t halves(logic [23:0] x, logic [127:0] secret);
    halves_t h;
    h[0] = x[23:12];
    h[1] = x[11:0];
    for (int unsigned r = 0; r < PermRounds; r++) h[r+2] = half(h[r], h[r+1], secret[12*r+:12]);
    return h;
  endfunction

  halves_t     now_l, now_r;
  logic [23:0] field;
  assign now_l = halves({RoleLocal, index_i}, secret_i);
  assign now_r = halves({RoleRemote, index_i}, secret_i);
  assign field = role_i ? {now_r[PermRounds], now_r[PermRounds+1]}
                        : {now_l[PermRounds], now_l[PermRounds+1]};

  logic              dec_valid, dec_role, fields_valid, keys_valid;
  logic [IndexW-1:0] dec_index;
  logic [23:0]       lfield, rfield;
  logic [31:0]       lkey, rkey;
  tpt_key_gen dut (
    .clk_i, .rst_ni, .start_i, .decode_i, .field_i(field), .index_i, .reg_num_valid_i,
    .reg_num_i,
    .has_remote_i, .plain_i(Plain), .perm_secret_i(secret_i), .tag_secret_i,
    .dec_valid_o(dec_valid), .dec_role_o(dec_role), .dec_index_o(dec_index),
    .fields_valid_o(fields_valid), .keys_valid_o(keys_valid), .lfield_o(lfield),
    .rfield_o(rfield), .lkey_o(lkey), .rkey_o(rkey)
  );

  // What was asked for last.
  logic              made_q, dec_q, role_q, first_q;
  logic [IndexW-1:0] index_q;
  halves_t           l_q, r_q, d;
  always_ff @(posedge clk_i) begin
    first_q <= rst_ni && start_i;
    if (!rst_ni) begin
      made_q <= 1'b0;
    end else if (start_i) begin
      made_q  <= 1'b1;
      dec_q   <= decode_i;
      role_q  <= role_i;
      index_q <= index_i;
      l_q     <= now_l;
      r_q     <= now_r;
    end
  end
  assign d = role_q ? r_q : l_q;

  localparam logic [1:0] Idle = 2'd0, Decode = 2'd1, Local = 2'd2, Remote = 2'd3;
  logic [1:0] state;
  logic [3:0] step;
  assign state = dut.fld_state_q;
  assign step  = dut.step_q;
  always @(posedge clk_i) begin
    ResetIdle_A: assert (!reset_q[0] || (state == Idle && dut.tag_state_q == 2'd0 && !made_q));
    ResetStill_A: assert (!(&reset_q[1:0]) || (!dut.in_round_q && !dut.role_first_q));
  end
  logic in_rounds;
  assign in_rounds = step >= 4'd1 && step <= 4'd10;

  `TPT_ASSERT(Begins_A, !made_q || ({l_q[0], l_q[1]} == {RoleLocal, index_q} &&
                                    {r_q[0], r_q[1]} == {RoleRemote, index_q}))
  for (genvar r = 0; r < PermRounds; r++) begin : g_round
    `TPT_ASSERT(RoundL_A, !made_q || l_q[r+2] == half(l_q[r], l_q[r+1], secret_i[12*r+:12]))
    `TPT_ASSERT(RoundR_A, !made_q || r_q[r+2] == half(r_q[r], r_q[r+1], secret_i[12*r+:12]))
  end
  `TPT_ASSERT(TagSpeck_A, dut.tag_state_q != 2'd1 || dut.round_q < 6'd27)
  `TPT_ASSERT(TagWait_A, dut.tag_state_q != 2'd2 || dut.round_q == 6'd27)
  `TPT_ASSERT(TagMix_A, dut.tag_state_q != 2'd3 ||
                        (dut.round_q >= 6'd27 && dut.round_q < 6'd43))
  `TPT_ASSERT(IdleStill_A, state != Idle || !made_q || (!dut.in_round_q && !dut.role_first_q) ||
                           first_q)
  `TPT_ASSERT(Work_A, state == Idle || made_q)
  `TPT_ASSERT(Steps_A, state == Idle || step <= 4'd11)
  `TPT_ASSERT(First_A, !first_q || (step == '0 && state == (dec_q ? Decode : Local)))
  `TPT_ASSERT(DecodeFirst_A, state != Decode || (dec_q && (step != '0 || first_q)))
  `TPT_ASSERT(InRound_A, state == Idle || dut.in_round_q == in_rounds)
  `TPT_ASSERT(RoleFirst_A, state == Idle || dut.role_first_q == (step == '0 && !first_q))
  `TPT_ASSERT(KeyDown_A, state == Idle || dut.key_down_q == (state == Decode))
  `TPT_ASSERT(KeyNumber_A, state == Idle || dut.key_q == (state == Decode ? 4'd9 - step : step))
  for (genvar s = 1; s <= 11; s++) begin : g_step
    logic at;
    assign at = step == 4'(s);
    if (s <= 10) begin : g_key
      `TPT_ASSERT(KeyUp_A, !at || (state != Local && state != Remote) ||
                  dut.round_key_q == secret_i[12*(s-1)+:12])
      `TPT_ASSERT(KeyDown_A, !at || state != Decode ||
                  dut.round_key_q == secret_i[12*(10-s)+:12])
    end
    `TPT_ASSERT(Local_A, !at || state != Local || dut.perm_q == {l_q[s-1], l_q[s]})
    `TPT_ASSERT(Remote_A, !at || state != Remote || dut.perm_q == {r_q[s-1], r_q[s]})
    `TPT_ASSERT(Decode_A, !at || state != Decode || dut.perm_q == {d[12-s], d[11-s]})
  end
  `TPT_ASSERT(Start_A, !first_q || dut.perm_q == (dec_q ? {d[11], d[10]} : {l_q[0], l_q[1]}))
  `TPT_ASSERT(Index_A, (state != Local && state != Remote) || dut.fld_index_q == index_q)
  `TPT_ASSERT(LfieldKept_A, state != Remote || lfield == {l_q[10], l_q[11]})
  `TPT_ASSERT(LfieldDecode_A, state != Decode || lfield == {d[10], d[11]})
  `TPT_ASSERT(DecodedRole_A, !(dec_q && state == Local) || role_q == RoleRemote)

  // The decoder that is one with the generator, and what comes out.
  `TPT_ASSERT(Decoded_A, !dec_valid || (dec_role == role_q && dec_index == index_q))
  `TPT_ASSERT(Fields_A, !made_q || !fields_valid || (lfield == {l_q[10], l_q[11]} &&
                                                     rfield == {r_q[10], r_q[11]}))
  // The fields of both roles are not one: an L_Key is no R_Key.
  if (Plain) begin : g_plain
    `TPT_ASSERT(NotOne_A, !made_q || !fields_valid || lfield != rfield)
  end
  `TPT_ASSERT(InKeys_A, !keys_valid || (lkey[31:8] == lfield &&
                                        (rkey == '0 || rkey[31:8] == rfield)))

  `TPT_COVER(Fields_C, made_q && fields_valid && !dec_q)
  `TPT_COVER(Decoded_C, dec_valid && role_q && index_q == 23'd6)
  `TPT_COVER(DecodedBoth_C, made_q && fields_valid && dec_q && !role_q)
endmodule

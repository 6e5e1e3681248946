// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Key generator: L_Key and R_Key of one registration, and the index that a key names.
///
///   index ─► Speck64/128 under tag_secret ─► 8 sub keys per role ─┐
///   gen ──────────────────────────────► 8-bit Feistel, 8 rounds ──┴─► tag of each role
///   {role, index} ─► 24-bit Feistel under perm_secret, 10 rounds ───► index field of each role
///
/// The tag is a permutation of the generation, and another one for every index and role: tags of
/// one index do not repeat within 256 generations, and one key tells nothing about another.
///
/// The two halves are independent and work at the same time, one round per clock:
///
///   tags     Idle ─start─► Speck (27) ─► Wait for gen ─► Mix (8, both roles) ─► Idle
///   fields   Idle ─start─► Local (12) ──────────────────────┐
///            Idle ─start─► Decode (12) ─► {local, index} ───┴─► Remote (12) ─► Idle
///                               └──────► {remote, index} ─► Local (12) ─┘
///
/// Decode takes the index field of a key and undoes the permutation; the field itself is then that
/// of the local role (for an R_Key it is made as well), and the tags are begun with the index. A
/// round is undone by the same round on swapped halves, with the round keys in reverse order. A
/// start while at work begins anew.
///
/// Latency from start: index 12 clocks, both fields 24; tags 36, or 48 with decoding, or 9 after
/// gen_valid_i; keys_valid_o comes a clock after the last.
/// Errors: none. Key 0 is never made: a key that comes out as 0 gets tag 1. Without a remote right
/// the R_Key is 0.
module tpt_key_gen import tpt_pkg::*; (
  /// Clock, and synchronous active-low reset.
  input  logic              clk_i,
  input  logic              rst_ni,

  /// Make the keys of index_i, or of the index that field_i names.
  input  logic              start_i,
  input  logic              decode_i,
  input  logic [23:0]       field_i,
  input  logic [IndexW-1:0] index_i,
  /// Generation, needed for the tags only: they wait for it.
  input  logic              gen_valid_i,
  input  logic [GenW-1:0]   gen_i,
  /// The region has a remote right, that is, it gets an R_Key. Looked at with keys_valid_o.
  input  logic              has_remote_i,

  /// Settings, constant while busy. Bits 32 i + 31 : 32 i are CSR word i.
  input  logic              plain_i,
  input  logic [127:0]      perm_secret_i,
  input  logic [127:0]      tag_secret_i,

  /// One clock: role and index that field_i named.
  output logic              dec_valid_o,
  output logic              dec_role_o,
  output logic [IndexW-1:0] dec_index_o,
  /// Fields, or fields and tags, are made. They stay until the next start.
  output logic              fields_valid_o,
  output logic              keys_valid_o,
  output logic [23:0]       lfield_o,
  output logic [23:0]       rfield_o,
  output logic [31:0]       lkey_o,
  output logic [31:0]       rkey_o
);

  localparam int unsigned SpeckRounds = 27;
  localparam int unsigned TagRounds   = 8;
  /// High plaintext word of the tag function; the low one is the index.
  localparam logic [31:0] TagDomain   = 32'h5450_5430;

  // ---------------------------------------------------------------------------------------------
  // Rounds
  // ---------------------------------------------------------------------------------------------
  // Speck64 mixing of two words with a word k: both the cipher round and its key schedule.
  function automatic logic [63:0] speck_mix(logic [31:0] x, logic [31:0] y, logic [31:0] k);
    logic [31:0] sum;
    sum = ({x[7:0], x[31:8]} + y) ^ k;
    return {sum, {y[28:0], y[31:29]} ^ sum};
  endfunction

  // One round of the tag's Feistel network on {L, R}: (L, R) <- (R, L ^ S(R ^ sub)).
  function automatic logic [7:0] tag_round(logic [7:0] x, logic [3:0] sub);
    return {x[3:0], x[7:4] ^ sbox4(x[3:0] ^ sub)};
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Tags
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    TagIdle,
    TagSpeck,
    TagWait,
    TagMix
  } tag_e;
  tag_e             tag_state_q;
  logic [4:0]       round_q;
  logic [31:0]      x_q, y_q;  // cipher words, then shift registers of sub keys
  logic [31:0]      k_q;       // round key
  logic [2:0][31:0] l_q;       // rest of the key schedule
  logic [7:0]       ltag_q, rtag_q;
  logic [63:0]      cipher_next, schedule_next;

  logic              tag_start;
  logic [IndexW-1:0] tag_index;
  assign tag_start = (start_i && !decode_i) || dec_valid_o;
  assign tag_index = dec_valid_o ? dec_index_o : index_i;

  assign cipher_next   = speck_mix(x_q, y_q, k_q);
  assign schedule_next = speck_mix(l_q[0], k_q, {27'd0, round_q});

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tag_state_q <= TagIdle;
      round_q     <= 5'd0;
    end else begin
      round_q <= round_q + 5'd1;
      if (start_i || dec_valid_o) begin
        tag_state_q <= tag_start ? TagSpeck : TagIdle;
        round_q     <= 5'd0;
      end else if ((tag_state_q == TagSpeck) && (round_q == 5'(SpeckRounds - 1))) begin
        tag_state_q <= TagWait;
      end else if (tag_state_q == TagWait) begin
        if (gen_valid_i) tag_state_q <= TagMix;
        round_q <= 5'd0;
      end else if ((tag_state_q == TagMix) && (round_q == 5'(TagRounds - 1))) begin
        tag_state_q <= TagIdle;
      end
    end
  end

  // Sub keys: the low cipher word is for the local role, the high one for the remote.
  always_ff @(posedge clk_i) begin
    if (tag_start) begin
      x_q <= TagDomain;
      y_q <= {9'd0, tag_index};
      k_q <= tag_secret_i[31:0];
      l_q <= tag_secret_i[127:32];
    end else if (tag_state_q == TagSpeck) begin
      {x_q, y_q} <= cipher_next;
      k_q        <= schedule_next[31:0];
      l_q        <= {schedule_next[63:32], l_q[2:1]};
    end else if (tag_state_q == TagWait) begin
      ltag_q <= gen_i;
      rtag_q <= gen_i;
    end else if (tag_state_q == TagMix) begin
      x_q    <= {4'd0, x_q[31:4]};
      y_q    <= {4'd0, y_q[31:4]};
      ltag_q <= tag_round(ltag_q, y_q[3:0]);
      rtag_q <= tag_round(rtag_q, x_q[3:0]);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Index fields
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    FldIdle,
    FldDecode,
    FldLocal,
    FldRemote
  } fld_e;
  fld_e        fld_state_q;
  logic [3:0]  step_q;        // 0: round key chosen; 1 to 10: rounds; then the result is there
  logic        last;
  logic [3:0]  key_q;         // number of the next round key
  logic        key_down_q;
  logic [11:0] round_key_d, round_key_q;
  logic [23:0] perm_q;        // while decoding with its halves swapped
  logic [23:0] lfield_q;

  assign last = (step_q == 4'(PermRounds + 1));
  assign {dec_role_o, dec_index_o} = {perm_q[11:0], perm_q[23:12]};
  assign dec_valid_o = (fld_state_q == FldDecode) && last;

  // The number of a round key is known a clock before the key is chosen, and that one before its
  // round.
  always_comb begin
    round_key_d = 12'd0;
    for (int unsigned r = 0; r < PermRounds; r++) begin
      if (key_q == 4'(r)) round_key_d = perm_secret_i[12*r+:12];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fld_state_q <= FldIdle;
      step_q      <= 4'd0;
      key_q       <= 4'd0;
      key_down_q  <= 1'b0;
    end else begin
      step_q <= step_q + 4'd1;
      key_q  <= key_down_q ? (key_q - 4'd1) : (key_q + 4'd1);
      if (start_i) begin
        fld_state_q <= decode_i ? FldDecode : FldLocal;
        step_q      <= 4'd0;
        key_q       <= decode_i ? 4'(PermRounds - 1) : 4'd0;
        key_down_q  <= decode_i;
      end else if (last) begin
        if ((fld_state_q == FldDecode) && (dec_role_o == RoleRemote)) fld_state_q <= FldLocal;
        else if (fld_state_q == FldDecode) fld_state_q <= FldRemote;
        else fld_state_q <= (fld_state_q == FldLocal) ? FldRemote : FldIdle;
        step_q      <= 4'd0;
        key_q       <= 4'd0;
        key_down_q  <= 1'b0;
      end
    end
  end

  // A role begins with the index while its first round key is chosen. The selects are registers.
  logic [IndexW-1:0] fld_index_q;
  logic              role_first_q, in_round_q;
  always_ff @(posedge clk_i) begin
    role_first_q   <= last && !start_i && (fld_state_q != FldIdle) && (fld_state_q != FldRemote);
    in_round_q     <= !start_i && (fld_state_q != FldIdle) && (step_q < 4'(PermRounds));
  end

  always_ff @(posedge clk_i) begin
    round_key_q <= round_key_d;
    if (start_i || role_first_q || in_round_q) begin
      if (start_i) begin
        perm_q <= decode_i ? {field_i[11:0], field_i[23:12]} : {RoleLocal, index_i};
      end else if (role_first_q) begin
        perm_q <= {(fld_state_q == FldRemote) ? RoleRemote : RoleLocal, fld_index_q};
      end else begin
        perm_q <= perm_round(perm_q, round_key_q, plain_i);
      end
    end
    if (start_i) lfield_q <= field_i;
    else if ((fld_state_q == FldLocal) && last) lfield_q <= perm_q;
    if (start_i) fld_index_q <= index_i;
    else if (dec_valid_o) fld_index_q <= dec_index_o;
  end

  // ---------------------------------------------------------------------------------------------
  // Keys
  // ---------------------------------------------------------------------------------------------
  logic rest, rest_q, lzero_q, rzero_q;
  assign rest = (tag_state_q == TagIdle) && (fld_state_q == FldIdle);
  always_ff @(posedge clk_i) begin
    rest_q  <= rest;
    lzero_q <= ({lfield_q, ltag_q} == 32'd0);
    rzero_q <= ({perm_q, rtag_q} == 32'd0);
  end

  assign fields_valid_o = (fld_state_q == FldIdle);
  assign keys_valid_o   = rest && rest_q;
  assign lfield_o = lfield_q;
  assign rfield_o = perm_q;
  assign lkey_o   = {lfield_q, ltag_q[7:1], ltag_q[0] || lzero_q};
  assign rkey_o   = has_remote_i ? {perm_q, rtag_q[7:1], rtag_q[0] || rzero_q} : 32'd0;

  logic unused_secret;
  assign unused_secret = ^perm_secret_i[127:12*PermRounds];

  `TPT_ASSERT(RoundInRange_A, (tag_state_q == TagIdle) || (tag_state_q == TagWait) ||
              (round_q < 5'(SpeckRounds)))
  `TPT_ASSERT(StepInRange_A, (fld_state_q == FldIdle) || (step_q <= 4'(PermRounds + 1)))
  `TPT_ASSERT(LkeyNeverZero_A, !keys_valid_o || (lkey_o != 32'd0))
  `TPT_ASSERT(RkeyNeverZero_A, !keys_valid_o || !has_remote_i || (rkey_o != 32'd0))

endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Key generator: L_Key and R_Key of one registration, and the index that a key names.
///
///   index ─► Speck64/128 under tag_secret, 27 rounds ─► 16 more: a sub key per round and role ─┐
///   reg_num ─────────────────────────────────────────► 8-bit Feistel, 16 rounds ──┴─► both tags
///   {role, index} ─► 24-bit Feistel under perm_secret, 10 rounds ───► index field of each role
///
/// reg_num is the number of the registration, modulo 256. The tag is a permutation of it, and
/// another one for every index and role: tags of one index do not repeat within 256 registrations,
/// and one key tells nothing about another.
///
/// The two halves are independent and work at the same time, one round per clock:
///
///   tags     Idle ─start─► Speck (27) ─► Wait for reg_num ─► Mix (16, both roles) ─► Idle
///   fields   Idle ─start─► Local (12) ──────────────────────┐
///            Idle ─start─► Decode (12) ─► {local, index} ───┴─► Remote (12) ─► Idle
///                               └──────► {remote, index} ─► Local (12) ─┘
///
/// Decode takes the index field of a key and undoes the permutation; the field itself is then that
/// of the local role (for an R_Key it is made as well), and the tags are begun with the index. A
/// round is undone by the same round on swapped halves, with the round keys in reverse order. A
/// start while at work begins anew.
///
/// Latency from start: index 12 clocks, both fields 24; tags 44, or 56 with decoding, or 17 after
/// reg_num_valid_i; keys_valid_o comes a clock after the last.
/// Errors: none. A field can be 0, of one role of one index; whoever hands out indices leaves that
/// one out, so that no key is 0. Without a remote right the R_Key is 0.
module tpt_key_gen import tpt_pkg::*; (
  /// Clock, and synchronous active-low reset.
  input  logic              clk_i,
  input  logic              rst_ni,

  /// Make the keys of index_i, or of the index that field_i names.
  input  logic              start_i,
  input  logic              decode_i,
  input  logic [23:0]       field_i,
  input  logic [IndexW-1:0] index_i,
  /// Number of the registration, needed for the tags only: they wait for it.
  input  logic              reg_num_valid_i,
  input  logic [GenW-1:0]   reg_num_i,
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
  localparam int unsigned TagRounds   = 16;
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

  // One round of the tag's Feistel network on {L, R}, sub key {b, a}:
  // (L, R) <- (R, L ^ S(S(R ^ a) ^ b)).
  function automatic logic [7:0] tag_round(logic [7:0] x, logic [7:0] sub);
    return {x[3:0], x[7:4] ^ sbox4(sbox4(x[3:0] ^ sub[3:0]) ^ sub[7:4])};
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
  logic [5:0]       round_q;   // of the cipher; it goes on while the tags are mixed
  logic [31:0]      x_q, y_q;  // cipher words
  logic [31:0]      k_q;       // round key
  logic [2:0][31:0] l_q;       // rest of the key schedule
  logic [7:0]       ltag_q, rtag_q;
  logic [63:0]      cipher_next, schedule_next;

  logic              tag_start;
  logic [IndexW-1:0] tag_index;
  assign tag_start = (start_i && !decode_i) || dec_valid_o;
  assign tag_index = dec_valid_o ? dec_index_o : index_i;

  assign cipher_next   = speck_mix(x_q, y_q, k_q);
  assign schedule_next = speck_mix(l_q[0], k_q, {26'd0, round_q});

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tag_state_q <= TagIdle;
      round_q     <= 6'd0;
    end else if (start_i || dec_valid_o) begin
      tag_state_q <= tag_start ? TagSpeck : TagIdle;
      round_q     <= 6'd0;
    end else begin
      if ((tag_state_q == TagSpeck) || (tag_state_q == TagMix)) round_q <= round_q + 6'd1;
      if ((tag_state_q == TagSpeck) && (round_q == 6'(SpeckRounds - 1))) begin
        tag_state_q <= TagWait;
      end else if ((tag_state_q == TagWait) && reg_num_valid_i) begin
        tag_state_q <= TagMix;
      end else if ((tag_state_q == TagMix) && (round_q == 6'(SpeckRounds + TagRounds - 1))) begin
        tag_state_q <= TagIdle;
      end
    end
  end

  // Sub keys: byte 0 of x is for the local role, byte 2 for the remote. Bits that are eight apart
  // are never both used: two rounds of the cipher would tie them.
  always_ff @(posedge clk_i) begin
    if (tag_start) begin
      x_q <= TagDomain;
      y_q <= {9'd0, tag_index};
      k_q <= tag_secret_i[31:0];
      l_q <= tag_secret_i[127:32];
    end else if ((tag_state_q == TagSpeck) || (tag_state_q == TagMix)) begin
      {x_q, y_q} <= cipher_next;
      k_q        <= schedule_next[31:0];
      l_q        <= {schedule_next[63:32], l_q[2:1]};
    end
    if (tag_state_q == TagWait) begin
      ltag_q <= reg_num_i;
      rtag_q <= reg_num_i;
    end else if (tag_state_q == TagMix) begin
      ltag_q <= tag_round(ltag_q, x_q[7:0]);
      rtag_q <= tag_round(rtag_q, x_q[23:16]);
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
  logic rest, rest_q;
  assign rest = (tag_state_q == TagIdle) && (fld_state_q == FldIdle);
  always_ff @(posedge clk_i) rest_q <= rest;

  assign fields_valid_o = (fld_state_q == FldIdle);
  assign keys_valid_o   = rest && rest_q;
  assign lfield_o = lfield_q;
  assign rfield_o = perm_q;
  assign lkey_o   = {lfield_q, ltag_q};
  assign rkey_o   = has_remote_i ? {perm_q, rtag_q} : 32'd0;

  logic unused_secret;
  assign unused_secret = ^perm_secret_i[127:12*PermRounds];

  `TPT_ASSERT(SpeckRound_A, (tag_state_q != TagSpeck) || (round_q < 6'(SpeckRounds)))
  `TPT_ASSERT(WaitRound_A, (tag_state_q != TagWait) || (round_q == 6'(SpeckRounds)))
  `TPT_ASSERT(MixRound_A, (tag_state_q != TagMix) || ((round_q >= 6'(SpeckRounds)) &&
              (round_q < 6'(SpeckRounds + TagRounds))))
  `TPT_ASSERT(StepInRange_A, (fld_state_q == FldIdle) || (step_q <= 4'(PermRounds + 1)))

endmodule

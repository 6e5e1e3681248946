// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Key generator: L_Key and R_Key of one registration, from index, generation and two secrets.
///
///   index ─► Speck64/128 under tag_secret ─► 8 sub keys per role ─┐
///   gen ──────────────────────────────► 8-bit Feistel, 8 rounds ──┴─► tag of each role
///   {role, index} ─► 24-bit Feistel under perm_secret, 10 rounds ───► index field of each role
///
/// The tag is a permutation of the generation, and another one for every index and role: tags of
/// one index do not repeat within 256 generations, and one key tells nothing about another.
/// One round per clock, one after the other, for the least logic:
///
///   Idle ─start─► Speck (27) ─► TagLocal (8) ─► TagRemote (8) ─► PermLocal (10)
///    ▲                                                                │
///    └───────────────────── done ◄── Finish (1) ◄── PermRemote (10) ◄─┘
///
/// Latency: 65 clocks from start_i to done_o, always. Throughput: one at a time.
/// Errors: none. Key 0 is never made: a key that comes out as 0 gets tag 1. Without a remote right
/// the R_Key and its tag are 0.
module tpt_key_gen import tpt_pkg::*; (
  /// Clock, and synchronous active-low reset.
  input  logic              clk_i,
  input  logic              rst_ni,

  /// Start with these arguments; only while not busy. They are taken at start.
  input  logic              start_i,
  input  logic [IndexW-1:0] index_i,
  input  logic [GenW-1:0]   gen_i,
  /// The region has a remote right, that is, it gets an R_Key.
  input  logic              has_remote_i,

  /// Settings, constant while busy. Bits 32 i + 31 : 32 i are CSR word i.
  input  logic              plain_i,
  input  logic [127:0]      perm_secret_i,
  input  logic [127:0]      tag_secret_i,

  /// Working; low again in the clock of done_o.
  output logic              busy_o,
  /// One clock: the keys are there. They stay until the next start.
  output logic              done_o,
  output logic [31:0]       lkey_o,
  output logic [31:0]       rkey_o,
  output logic [7:0]        ltag_o,
  output logic [7:0]        rtag_o
);

  localparam int unsigned SpeckRounds = 27;
  localparam int unsigned TagRounds   = 8;
  /// High plaintext word of the tag function; the low one is the index.
  localparam logic [31:0] TagDomain   = 32'h5450_5430;

  typedef enum logic [2:0] {
    StIdle,
    StSpeck,
    StTagLocal,
    StTagRemote,
    StPermLocal,
    StPermRemote,
    StFinish
  } phase_e;

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

  // The tag that is issued: key 0 does not exist.
  function automatic logic [7:0] issued_tag(logic [23:0] field, logic [7:0] tag);
    return ({field, tag} == 32'd0) ? 8'd1 : tag;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Sequence
  // ---------------------------------------------------------------------------------------------
  phase_e     phase_q, phase_d;
  logic [4:0] round_q, round_d;
  logic       last_round;
  logic       done_q, done_d;

  always_comb begin
    unique case (phase_q)
      StSpeck:                   last_round = (round_q == 5'(SpeckRounds - 1));
      StTagLocal, StTagRemote:   last_round = (round_q == 5'(TagRounds - 1));
      StPermLocal, StPermRemote: last_round = (round_q == 5'(PermRounds - 1));
      default:                   last_round = 1'b0;
    endcase
  end

  always_comb begin
    phase_d = phase_q;
    done_d  = 1'b0;
    round_d = last_round ? 5'd0 : (round_q + 5'd1);
    unique case (phase_q)
      StIdle: begin
        round_d = 5'd0;
        if (start_i) phase_d = StSpeck;
      end
      StSpeck:     if (last_round) phase_d = StTagLocal;
      StTagLocal:  if (last_round) phase_d = StTagRemote;
      StTagRemote: if (last_round) phase_d = StPermLocal;
      StPermLocal: if (last_round) phase_d = StPermRemote;
      StPermRemote: if (last_round) phase_d = StFinish;
      StFinish: begin
        round_d = 5'd0;
        phase_d = StIdle;
        done_d  = 1'b1;
      end
      default: phase_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      phase_q <= StIdle;
      round_q <= 5'd0;
      done_q  <= 1'b0;
    end else begin
      phase_q <= phase_d;
      round_q <= round_d;
      done_q  <= done_d;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Data
  // ---------------------------------------------------------------------------------------------
  logic [31:0]       x_q, y_q;       // cipher words, then a shift register of sub keys
  logic [31:0]       k_q;            // round key
  logic [2:0][31:0]  l_q;            // rest of the key schedule
  logic [7:0]        tag_q, tag_next;
  logic [23:0]       perm_q, perm_next;
  logic [11:0]       perm_rk_d, perm_rk_q;
  logic              in_perm;
  logic [63:0]       cipher_next, schedule_next;
  logic [IndexW-1:0] index_q;
  logic [GenW-1:0]   gen_q;
  logic              has_remote_q;
  logic [7:0]        ltag_q;
  logic [23:0]       lfield_q;

  assign cipher_next   = speck_mix(x_q, y_q, k_q);
  assign schedule_next = speck_mix(l_q[0], k_q, {27'd0, round_q});

  // Sub keys of the tag: the low cipher word is for the local role, the high one for the remote.
  assign tag_next = tag_round(tag_q, y_q[3:0]);

  // Round key of the permutation, chosen a clock ahead: that of the next round, or of the first.
  assign in_perm = (phase_q == StPermLocal) || (phase_q == StPermRemote);

  always_comb begin
    perm_rk_d = perm_secret_i[11:0];
    for (int unsigned r = 1; r < PermRounds; r++) begin
      if (in_perm && (round_q == 5'(r - 1))) perm_rk_d = perm_secret_i[12*r+:12];
    end
  end
  always_ff @(posedge clk_i) perm_rk_q <= perm_rk_d;
  assign perm_next = perm_round(perm_q, perm_rk_q, plain_i);

  always_ff @(posedge clk_i) begin
    unique case (phase_q)
      StIdle: begin
        if (start_i) begin
          index_q      <= index_i;
          gen_q        <= gen_i;
          has_remote_q <= has_remote_i;
          x_q          <= TagDomain;
          y_q          <= {9'd0, index_i};
          k_q          <= tag_secret_i[31:0];
          l_q          <= tag_secret_i[127:32];
          tag_q        <= gen_i;
          perm_q       <= {RoleLocal, index_i};
        end
      end
      StSpeck: begin
        {x_q, y_q} <= cipher_next;
        k_q        <= schedule_next[31:0];
        l_q        <= {schedule_next[63:32], l_q[2:1]};
      end
      StTagLocal: begin
        {x_q, y_q} <= {4'd0, x_q, y_q[31:4]};
        tag_q      <= last_round ? gen_q : tag_next;
        if (last_round) ltag_q <= tag_next;
      end
      StTagRemote: begin
        {x_q, y_q} <= {4'd0, x_q, y_q[31:4]};
        tag_q      <= tag_next;
      end
      StPermLocal: begin
        perm_q <= last_round ? {RoleRemote, index_q} : perm_next;
        if (last_round) lfield_q <= perm_next;
      end
      StPermRemote: begin
        perm_q <= perm_next;
      end
      StFinish: begin
        ltag_q <= issued_tag(lfield_q, ltag_q);
        tag_q  <= issued_tag(perm_q, tag_q);
        if (!has_remote_q) begin
          tag_q  <= 8'd0;
          perm_q <= 24'd0;
        end
      end
      default: ;
    endcase
  end

  assign busy_o = (phase_q != StIdle);
  assign done_o = done_q;
  assign lkey_o = {lfield_q, ltag_q};
  assign rkey_o = {perm_q, tag_q};
  assign ltag_o = ltag_q;
  assign rtag_o = tag_q;

  logic unused_secret;
  assign unused_secret = ^perm_secret_i[127:12*PermRounds];

  `TPT_ASSUME(StartOnlyWhenIdle, !(start_i && busy_o))
  `TPT_ASSERT(DoneMeansIdle, !(done_o && busy_o))
  `TPT_ASSERT(RoundInRange, round_q < 5'(SpeckRounds))
  `TPT_ASSERT(PhaseInRange, phase_q <= StFinish)
  `TPT_ASSERT(LkeyNeverZero, !done_o || (lkey_o != 32'd0))

endmodule

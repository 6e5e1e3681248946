// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Refused requests: how many ended with which syndrome, and a log of the last ones, in which entry
/// 0 is the newest one.
///
/// Takes a refusal of every client in every clock and loses none. Of one clock, that of the client
/// with the higher number counts as the newer one. Latency: 1 clock for what is counted, 2 for the
/// log.
module tpt_refusal_log
  import tpt_pkg::*;
  import tpt_csr_pkg::*;
#(
  /// Clients, 1 to 4.
  parameter int unsigned NumClients = 2
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  /// Refusals of this clock.
  input  logic     [NumClients-1:0]   valid_i,
  input  refusal_t [NumClients-1:0]   refusal_i,

  /// There was a refusal; how many with each syndrome from 1 on.
  output logic                        any_o,
  output logic [NumSynCount-1:0][2:0] inc_o,

  /// Refusals since reset, modulo 2^32.
  output logic     [31:0]             count_o,
  /// Entries; the syndrome is SynOk if there were fewer refusals.
  output refusal_t [NumLog-1:0]       entry_o,
  output logic     [NumLog-1:0][1:0]  client_o
);

  if (NumSynCount != 32'(SynBlocked)) begin : g_bad_syndromes
    $fatal(1, "tpt_refusal_log: SYN_COUNT in tpt_csr.rdl must count each syndrome of tpt_pkg");
  end

  // The refusals come late in their clock.
  logic     [NumClients-1:0] valid_q;
  refusal_t [NumClients-1:0] refusal_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= valid_i;
  end
  always_ff @(posedge clk_i) refusal_q <= refusal_i;

  assign any_o = |valid_q;
  always_comb begin
    inc_o = '0;
    for (int unsigned n = 0; n < NumSynCount; n++) begin
      for (int unsigned c = 0; c < NumClients; c++) begin
        inc_o[n] = inc_o[n] + 3'(valid_q[c] && refusal_q[c].syndrome == 5'(n + 1));
      end
    end
  end

  refusal_t [NumLog-1:0]      entry_q, entry_d;
  logic     [NumLog-1:0][1:0] client_q, client_d;
  logic     [31:0]            count_q;
  logic     [2:0]             news;
  always_comb begin
    entry_d  = entry_q;
    client_d = client_q;
    news     = 3'd0;
    for (int unsigned c = 0; c < NumClients; c++) begin
      if (valid_q[c]) begin
        entry_d  = {entry_d[NumLog-2:0], refusal_q[c]};
        client_d = {client_d[NumLog-2:0], 2'(c)};
        news     = news + 3'd1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      entry_q  <= '0;
      client_q <= '0;
      count_q  <= '0;
    end else begin
      entry_q  <= entry_d;
      client_q <= client_d;
      count_q  <= count_q + 32'(news);
    end
  end
  assign count_o  = count_q;
  assign entry_o  = entry_q;
  assign client_o = client_q;

  for (genvar c = 0; c < NumClients; c++) begin : g_asserts
    `TPT_ASSERT(IsCounted_A, !valid_q[c] || (refusal_q[c].syndrome != SynOk &&
                                             32'(refusal_q[c].syndrome) <= NumSynCount))
  end

endmodule

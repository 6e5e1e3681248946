// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Log of the last refused requests: entry 0 is the newest one.
///
/// Takes a refusal of every client in every clock and loses none. Of one clock, that of the client
/// with the higher number counts as the newer one. Latency: 1 clock.
module tpt_refusal_log
  import tpt_pkg::*;
#(
  /// Clients, 1 to 4.
  parameter int unsigned NumClients = 2,
  /// Entries.
  parameter int unsigned Depth      = 4
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  /// Refusals of this clock.
  input  logic     [NumClients-1:0]   valid_i,
  input  refusal_t [NumClients-1:0]   refusal_i,

  /// Refusals since reset, modulo 2^32.
  output logic     [31:0]             count_o,
  /// Entries; the syndrome is SynOk if there were fewer refusals.
  output refusal_t [Depth-1:0]        entry_o,
  output logic     [Depth-1:0][1:0]   client_o
);

  refusal_t [Depth-1:0]      entry_q, entry_d;
  logic     [Depth-1:0][1:0] client_q, client_d;
  logic     [31:0]           count_q;
  logic     [2:0]            news;

  always_comb begin
    entry_d  = entry_q;
    client_d = client_q;
    news     = 3'd0;
    for (int unsigned c = 0; c < NumClients; c++) begin
      if (valid_i[c]) begin
        entry_d  = {entry_d[Depth-2:0], refusal_i[c]};
        client_d = {client_d[Depth-2:0], 2'(c)};
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
    `TPT_ASSERT(IsRefusal_A, !valid_i[c] || refusal_i[c].syndrome != SynOk)
  end

endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Alarm of bad keys: who tries keys that are not his, and streams that may not go on.
///
/// A bad key is a request refused with KEY_INDEX, KEY_STATE, KEY_TAG, PD or QP. Each counts for
/// its stream, and for a slot of PDs, of which there are 16: PDs that are equal modulo 16 share
/// one. Counts stay at 255. A count that reaches its threshold raises the alarm, once; a stream is
/// blocked as well, if the host wants that. A count that is cleared begins anew.
///
/// Clearing wins over counting in the same clock. Lowering a threshold raises nothing by itself:
/// the next bad key does.
///
/// Latency: a bad key is counted two clocks later, which is before its answer has left.
/// Throughput: a bad key of every lane in every clock. Errors: none.
module tpt_alarm
  import tpt_pkg::*;
#(
  /// Clients, 1 to 4.
  parameter int unsigned NumClients = 2,
  /// Streams of a client, a power of two, 2 to 64.
  parameter int unsigned NumStreams = 16,
  /// Lanes that refuse requests.
  parameter int unsigned Lanes      = 1,
  localparam int unsigned ClientW   = 2,
  localparam int unsigned StrW      = $clog2(NumStreams),
  localparam int unsigned NumSlots  = 16
) (
  /// Clock, and synchronous active-low reset.
  input  logic                                   clk_i,
  input  logic                                   rst_ni,

  /// Settings: a threshold of 0 is never reached.
  input  logic [7:0]                             stream_threshold_i,
  input  logic [7:0]                             pd_threshold_i,
  input  logic                                   block_i,

  /// Of each lane: a request ends with this syndrome.
  input  logic [Lanes-1:0]                       valid_i,
  input  logic [Lanes-1:0][4:0]                  syndrome_i,
  input  logic [Lanes-1:0][ClientW-1:0]          client_i,
  input  logic [Lanes-1:0][StrW-1:0]             stream_i,
  input  logic [Lanes-1:0][PdW-1:0]              pd_i,

  /// What is shown and cleared: a stream of a client, and a slot.
  input  logic [ClientW-1:0]                     sel_client_i,
  input  logic [5:0]                             sel_stream_i,
  input  logic [3:0]                             sel_slot_i,
  input  logic                                   clear_stream_i,
  input  logic                                   clear_pd_i,
  input  logic                                   clear_all_i,
  output logic [7:0]                             stream_count_o,
  output logic                                   stream_blocked_o,
  output logic [7:0]                             pd_count_o,
  output logic [PdW-1:0]                         pd_last_o,

  /// Streams whose requests are refused.
  output logic [NumClients-1:0][NumStreams-1:0]  blocked_o,
  /// A count has reached its threshold.
  output logic                                   alarm_o
);

  if (NumClients < 1 || NumClients > 4) begin : g_bad_clients
    $fatal(1, "tpt_alarm: NumClients must be 1 to 4");
  end
  if (NumStreams < 2 || NumStreams > 64 || (NumStreams & (NumStreams - 1)) != 0) begin : g_bad_str
    $fatal(1, "tpt_alarm: NumStreams must be a power of two, 2 to 64");
  end

  localparam int unsigned IncW = $clog2(Lanes + 1);

  // A count that grows by `inc`, and stays at its end.
  function automatic logic [7:0] grown(logic [7:0] count, logic [IncW-1:0] inc);
    logic [8:0] sum;
    sum = {1'b0, count} + 9'(inc);
    return sum[8] ? 8'hff : sum[7:0];
  endfunction

  // The count has reached the threshold just now.
  function automatic logic reached(logic [7:0] old, logic [7:0] now, logic [7:0] threshold);
    return (threshold != 8'd0) && (now >= threshold) && (old < threshold);
  endfunction

  // A clock later: bad keys only.
  logic [Lanes-1:0]              bad_q;
  logic [Lanes-1:0][ClientW-1:0] client_q;
  logic [Lanes-1:0][StrW-1:0]    stream_q;
  logic [Lanes-1:0][PdW-1:0]     pd_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bad_q <= '0;
    end else begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        bad_q[l] <= valid_i[l] && (syndrome_i[l] == SynKeyIndex || syndrome_i[l] == SynKeyState ||
                                   syndrome_i[l] == SynKeyTag || syndrome_i[l] == SynPd ||
                                   syndrome_i[l] == SynQp);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    client_q <= client_i;
    stream_q <= stream_i;
    pd_q     <= pd_i;
  end

  // ---------------------------------------------------------------------------------------------
  // Streams
  // ---------------------------------------------------------------------------------------------
  logic [NumClients-1:0][NumStreams-1:0][7:0] count_q, count_d;
  logic [NumClients-1:0][NumStreams-1:0]      blocked_q, new_q, hit;
  for (genvar c = 0; c < NumClients; c++) begin : g_client
    for (genvar s = 0; s < NumStreams; s++) begin : g_stream
      logic [IncW-1:0] inc;
      logic            clear;
      always_comb begin
        inc = '0;
        for (int unsigned l = 0; l < Lanes; l++) begin
          inc = inc + IncW'(bad_q[l] && client_q[l] == ClientW'(c) && stream_q[l] == StrW'(s));
        end
      end
      assign clear = clear_all_i || (clear_stream_i && sel_client_i == ClientW'(c) &&
                                     sel_stream_i == 6'(s));
      assign count_d[c][s] = clear ? 8'd0 : grown(count_q[c][s], inc);
      assign hit[c][s]     = !clear && inc != '0 &&
                             reached(count_q[c][s], count_d[c][s], stream_threshold_i);
      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          count_q[c][s]   <= '0;
          blocked_q[c][s] <= 1'b0;
          new_q[c][s]     <= 1'b0;
        end else begin
          count_q[c][s] <= count_d[c][s];
          new_q[c][s]   <= hit[c][s];
          if (clear) blocked_q[c][s] <= 1'b0;
          else if (hit[c][s] && block_i) blocked_q[c][s] <= 1'b1;
        end
      end
    end
  end
  assign blocked_o = blocked_q;

  // ---------------------------------------------------------------------------------------------
  // Slots of PDs
  // ---------------------------------------------------------------------------------------------
  logic [NumSlots-1:0][7:0]     pd_count_q, pd_count_d;
  logic [NumSlots-1:0][PdW-1:0] pd_last_q;
  logic [NumSlots-1:0]          pd_new_q;
  for (genvar n = 0; n < NumSlots; n++) begin : g_slot
    logic [IncW-1:0] inc;
    logic            clear;
    logic [PdW-1:0]  last;
    always_comb begin
      inc  = '0;
      last = pd_last_q[n];
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (bad_q[l] && pd_q[l][3:0] == 4'(n)) begin
          inc  = inc + 1'b1;
          last = pd_q[l];
        end
      end
    end
    assign clear         = clear_all_i || (clear_pd_i && sel_slot_i == 4'(n));
    assign pd_count_d[n] = clear ? 8'd0 : grown(pd_count_q[n], inc);
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        pd_count_q[n] <= '0;
        pd_last_q[n]  <= '0;
        pd_new_q[n]   <= 1'b0;
      end else begin
        pd_count_q[n] <= pd_count_d[n];
        pd_last_q[n]  <= clear ? '0 : last;
        pd_new_q[n]   <= !clear && inc != '0 &&
                         reached(pd_count_q[n], pd_count_d[n], pd_threshold_i);
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // What is told
  // ---------------------------------------------------------------------------------------------
  logic sel_there;
  assign sel_there        = 32'(sel_client_i) < NumClients && 32'(sel_stream_i) < NumStreams;
  always_comb begin
    stream_count_o   = '0;
    stream_blocked_o = 1'b0;
    for (int unsigned c = 0; c < NumClients; c++) begin
      if (sel_there && sel_client_i == ClientW'(c)) begin
        stream_count_o   = count_q[c][sel_stream_i[StrW-1:0]];
        stream_blocked_o = blocked_q[c][sel_stream_i[StrW-1:0]];
      end
    end
  end
  assign pd_count_o = pd_count_q[sel_slot_i];
  assign pd_last_o  = pd_last_q[sel_slot_i];
  assign alarm_o    = (|new_q) || (|pd_new_q);

  // A stream is blocked by a bad key of its own only.
  for (genvar c = 0; c < NumClients; c++) begin : g_client_asserts
    for (genvar s = 0; s < NumStreams; s++) begin : g_asserts
      logic mine;
      always_comb begin
        mine = 1'b0;
        for (int unsigned l = 0; l < Lanes; l++) begin
          mine |= bad_q[l] && client_q[l] == ClientW'(c) && stream_q[l] == StrW'(s);
        end
      end
      `TPT_ASSERT(OwnFault_A, !hit[c][s] || mine)
    end
  end

endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Alarm of bad keys: who tries keys that are not his, and streams that may not go on.
///
/// A bad key is a request refused with KEY_INDEX, KEY_STATE, KEY_TAG, PD or QP. Each counts for
/// its stream, and for a slot of PDs, of which there are NumPds: PDs that are equal modulo NumPds
/// share one, so that each PD below NumPds has its own as long as no other PD uses it. Counts stay
/// at 255. A count that reaches its threshold raises the alarm, once; a stream is blocked as well,
/// if the host wants that. A count that is cleared begins anew.
///
/// Clearing wins over counting in the same clock. A count that is beyond a threshold that is set
/// anew does not reach it any more: clear it.
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
  /// Slots of PDs, a power of two, 16 to 256.
  parameter int unsigned NumPds     = 16,
  localparam int unsigned ClientW   = 2,
  localparam int unsigned StrW      = $clog2(NumStreams),
  localparam int unsigned SlotW     = $clog2(NumPds)
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

  /// What is shown and cleared: a stream of a client, and a slot, modulo NumPds.
  input  logic [ClientW-1:0]                     sel_client_i,
  input  logic [5:0]                             sel_stream_i,
  input  logic [7:0]                             sel_slot_i,
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
  if (NumPds < 16 || NumPds > 256 || (NumPds & (NumPds - 1)) != 0) begin : g_bad_pds
    $fatal(1, "tpt_alarm: NumPds must be a power of two, 16 to 256");
  end

  // A count that grows by one, and stays at its end.
  function automatic logic [7:0] grown(logic [7:0] count);
    return (count == 8'hff) ? count : count + 8'd1;
  endfunction

  // The count reaches the threshold with this one.
  function automatic logic reached(logic [7:0] count, logic [7:0] threshold);
    return (threshold != 8'd0) && (count != 8'hff) && (count + 8'd1 == threshold);
  endfunction

  // The client as an index.
  localparam int unsigned ClIdxW = (NumClients > 1) ? $clog2(NumClients) : 1;
  logic [Lanes-1:0][ClIdxW-1:0] cl;
  logic [Lanes-1:0]             counts, counts_pd;  // it counts, as nobody clears in this clock
  logic [ClIdxW-1:0]            sel_cl;
  logic                         sel_there;
  assign sel_there = 32'(sel_client_i) < NumClients && 32'(sel_stream_i) < NumStreams;
  assign sel_cl    = sel_client_i[ClIdxW-1:0];

  // Slot of a PD, and the one that is shown and cleared.
  logic [Lanes-1:0][SlotW-1:0] slot;
  logic [SlotW-1:0]            sel_slot;
  assign sel_slot = sel_slot_i[SlotW-1:0];

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
  always_comb begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      cl[l]       = client_q[l][ClIdxW-1:0];
      counts[l]   = bad_q[l] && !clear_all_i &&
                    !(clear_stream_i && sel_client_i == client_q[l] &&
                      sel_stream_i == 6'(stream_q[l]));
      slot[l]      = pd_q[l][SlotW-1:0];
      counts_pd[l] = bad_q[l] && !clear_all_i && !(clear_pd_i && sel_slot == slot[l]);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Streams: what the lanes have counts one behind the other
  // ---------------------------------------------------------------------------------------------
  logic [NumClients-1:0][NumStreams-1:0][7:0] count_q, count_d;
  logic [NumClients-1:0][NumStreams-1:0]      blocked_q, blocked_d;
  logic                                       stream_alarm, stream_alarm_q;
  always_comb begin
    count_d      = count_q;
    blocked_d    = blocked_q;
    stream_alarm = 1'b0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (counts[l]) begin
        if (reached(count_d[cl[l]][stream_q[l]], stream_threshold_i)) begin
          stream_alarm                  = 1'b1;
          blocked_d[cl[l]][stream_q[l]] = blocked_q[cl[l]][stream_q[l]] || block_i;
        end
        count_d[cl[l]][stream_q[l]] = grown(count_d[cl[l]][stream_q[l]]);
      end
    end
    if (clear_stream_i && sel_there) begin
      count_d[sel_cl][sel_stream_i[StrW-1:0]]   = '0;
      blocked_d[sel_cl][sel_stream_i[StrW-1:0]] = 1'b0;
    end
    if (clear_all_i) begin
      count_d   = '0;
      blocked_d = '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q        <= '0;
      blocked_q      <= '0;
      stream_alarm_q <= 1'b0;
    end else begin
      count_q        <= count_d;
      blocked_q      <= blocked_d;
      stream_alarm_q <= stream_alarm;
    end
  end
  assign blocked_o = blocked_q;

  // ---------------------------------------------------------------------------------------------
  // Slots of PDs
  // ---------------------------------------------------------------------------------------------
  logic [NumPds-1:0][7:0]     pd_count_q, pd_count_d;
  logic [NumPds-1:0][PdW-1:0] pd_last_q, pd_last_d;
  logic                       pd_alarm, pd_alarm_q;
  always_comb begin
    pd_count_d = pd_count_q;
    pd_last_d  = pd_last_q;
    pd_alarm   = 1'b0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (counts_pd[l]) begin
        if (reached(pd_count_d[slot[l]], pd_threshold_i)) pd_alarm = 1'b1;
        pd_count_d[slot[l]] = grown(pd_count_d[slot[l]]);
        pd_last_d[slot[l]]  = pd_q[l];
      end
    end
    if (clear_pd_i) begin
      pd_count_d[sel_slot] = '0;
      pd_last_d[sel_slot]  = '0;
    end
    if (clear_all_i) begin
      pd_count_d = '0;
      pd_last_d  = '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pd_count_q <= '0;
      pd_last_q  <= '0;
      pd_alarm_q <= 1'b0;
    end else begin
      pd_count_q <= pd_count_d;
      pd_last_q  <= pd_last_d;
      pd_alarm_q <= pd_alarm;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // What is told
  // ---------------------------------------------------------------------------------------------
  always_comb begin
    stream_count_o   = sel_there ? count_q[sel_cl][sel_stream_i[StrW-1:0]] : '0;
    stream_blocked_o = sel_there && blocked_q[sel_cl][sel_stream_i[StrW-1:0]];
  end
  assign pd_count_o = pd_count_q[sel_slot];
  assign pd_last_o  = pd_last_q[sel_slot];
  assign alarm_o    = stream_alarm_q || pd_alarm_q;

  for (genvar l = 0; l < Lanes; l++) begin : g_lane_asserts
    `TPT_ASSUME(Client_A, !valid_i[l] || 32'(client_i[l]) < NumClients)
    `TPT_ASSERT(BadClient_A, !bad_q[l] || 32'(client_q[l]) < NumClients)
  end

  logic unused_slot;
  assign unused_slot = ^sel_slot_i;

endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_alarm: the count of every stream and of every slot of PDs is the number of its own bad keys
/// since it was cleared, at most 255. A stream is blocked exactly from the bad key on with which
/// its number reaches its threshold, if streams are to be blocked then, until it is cleared. The
/// alarm tells exactly when a number reaches its threshold.
///
/// Settings, selection and clearing may change in every clock.
module alarm_formal import tpt_pkg::*; #(
  parameter int unsigned Lanes      = 1,
  parameter int unsigned NumClients = 1,
  parameter int unsigned NumStreams = 4,
  parameter int unsigned NumPds     = 16,
  localparam int unsigned StrW      = $clog2(NumStreams),
  // a number of bad keys without an end in sight: counts end far below
  localparam int unsigned NumberW   = 10
) (
  input logic                       clk_i,
  input logic                       rst_ni,
  input logic [7:0]                 stream_threshold_i,
  input logic [7:0]                 pd_threshold_i,
  input logic                       block_i,
  input logic [Lanes-1:0]           valid_i,
  input logic [Lanes-1:0][4:0]      syndrome_i,
  input logic [Lanes-1:0][1:0]      client_i,
  input logic [Lanes-1:0][StrW-1:0] stream_i,
  input logic [Lanes-1:0][PdW-1:0]  pd_i,
  input logic [1:0]                 sel_client_i,
  input logic [5:0]                 sel_stream_i,
  input logic [7:0]                 sel_slot_i,
  input logic                       clear_stream_i,
  input logic                       clear_pd_i,
  input logic                       clear_all_i
);
  `TPT_FORMAL_RESET

  logic [7:0]                            stream_count, pd_count;
  logic                                  stream_blocked, alarm;
  logic [PdW-1:0]                        pd_last;
  logic [NumClients-1:0][NumStreams-1:0] blocked;
  tpt_alarm #(
    .NumClients(NumClients), .NumStreams(NumStreams), .Lanes(Lanes), .NumPds(NumPds)
  ) dut (
    .clk_i, .rst_ni, .stream_threshold_i, .pd_threshold_i, .block_i, .valid_i, .syndrome_i,
    .client_i, .stream_i, .pd_i, .sel_client_i, .sel_stream_i, .sel_slot_i, .clear_stream_i,
    .clear_pd_i, .clear_all_i, .stream_count_o(stream_count), .stream_blocked_o(stream_blocked),
    .pd_count_o(pd_count), .pd_last_o(pd_last), .blocked_o(blocked), .alarm_o(alarm)
  );

  // What came a clock ago counts now.
  logic [Lanes-1:0]           bad_q;
  logic [Lanes-1:0][1:0]      client_q;
  logic [Lanes-1:0][StrW-1:0] stream_q;
  logic [Lanes-1:0][PdW-1:0]  pd_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      bad_q[l] <= rst_ni && valid_i[l] &&
                  (syndrome_i[l] inside {SynKeyIndex, SynKeyState, SynKeyTag, SynPd, SynQp});
    end
    client_q <= client_i;
    stream_q <= stream_i;
    pd_q     <= pd_i;
  end
  `TPT_ASSERT(Bad_A, dut.bad_q == bad_q && dut.client_q == client_q && dut.stream_q == stream_q &&
                     dut.pd_q == pd_q)

  // A number that does not come round again.
  function automatic logic [NumberW-1:0] more(logic [NumberW-1:0] number, int unsigned by);
    return (number >= NumberW'(1000)) ? number : number + NumberW'(by);
  endfunction
  function automatic logic [7:0] shown(logic [NumberW-1:0] number);
    return (number > NumberW'(255)) ? 8'd255 : 8'(number);
  endfunction

  logic [NumClients-1:0][NumStreams-1:0] told_stream;
  logic [NumPds-1:0]                     told_slot;

  for (genvar c = 0; c < NumClients; c++) begin : g_client
    for (genvar s = 0; s < NumStreams; s++) begin : g_stream
      logic [NumberW-1:0] number_q, number;
      logic               clear, told_q, steady_q, was_block_q, reaches;
      logic [7:0]         was_threshold_q;
      int unsigned        own;
      always_comb begin
        own = 0;
        for (int unsigned l = 0; l < Lanes; l++) begin
          if (bad_q[l] && 32'(client_q[l]) == c && 32'(stream_q[l]) == s) own = own + 1;
        end
      end
      assign number  = more(number_q, own);
      assign clear   = clear_all_i || (clear_stream_i && 32'(sel_client_i) == c &&
                                       32'(sel_stream_i) == s);
      assign reaches = !clear && stream_threshold_i != '0 &&
                       number_q < NumberW'(stream_threshold_i) &&
                       number >= NumberW'(stream_threshold_i);
      logic blocked_q;
      always_ff @(posedge clk_i) begin
        told_q          <= rst_ni && reaches;
        was_threshold_q <= stream_threshold_i;
        was_block_q     <= block_i;
        if (!rst_ni || clear) begin
          number_q  <= '0;
          steady_q  <= 1'b1;
          blocked_q <= 1'b0;
        end else begin
          number_q <= number;
          if (stream_threshold_i != was_threshold_q || block_i != was_block_q) begin
            // of the first clock after it was cleared nothing stands in number_q yet
            steady_q <= steady_q && number_q == '0;
          end
          if (reaches && block_i) blocked_q <= 1'b1;
        end
      end
      assign told_stream[c][s] = told_q;
      `TPT_ASSERT(Count_A, dut.count_q[c][s] == shown(number_q))
      `TPT_ASSERT(Blocked_A, blocked[c][s] == blocked_q)
      // With the same settings since it was cleared, or since its first bad key, nothing but its
      // own number decides.
      `TPT_ASSERT(Steady_A, !steady_q || blocked_q ==
                  (was_block_q && was_threshold_q != '0 && number_q >= NumberW'(was_threshold_q)))
      `TPT_ASSERT(NotWithout_A, !blocked[c][s] || number_q != '0)
      `TPT_ASSERT(Number_A, number_q < NumberW'(1000 + Lanes))
      `TPT_COVER(Blocked_C, blocked[c][s] && $countones(blocked) == 1 && number_q == NumberW'(3))
      `TPT_COVER(Above_C, number_q > NumberW'(stream_threshold_i) && stream_threshold_i != '0 &&
                          steady_q && was_block_q && blocked_q)
      `TPT_COVER(Cleared_C, clear && !clear_all_i && own != 0 && blocked_q)
    end
  end

  for (genvar n = 0; n < NumPds; n++) begin : g_slot
    logic [NumberW-1:0] number_q, number;
    logic [PdW-1:0]     last_q, last;
    logic               clear, told_q, reaches;
    int unsigned        own;
    always_comb begin
      own  = 0;
      last = last_q;
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (bad_q[l] && pd_q[l] % PdW'(NumPds) == PdW'(n)) begin
          own  = own + 1;
          last = pd_q[l];
        end
      end
    end
    assign number  = more(number_q, own);
    assign clear   = clear_all_i || (clear_pd_i && 32'(sel_slot_i) % NumPds == n);
    assign reaches = !clear && pd_threshold_i != '0 && number_q < NumberW'(pd_threshold_i) &&
                     number >= NumberW'(pd_threshold_i);
    always_ff @(posedge clk_i) begin
      told_q <= rst_ni && reaches;
      if (!rst_ni || clear) begin
        number_q <= '0;
        last_q   <= '0;
      end else begin
        number_q <= number;
        last_q   <= last;
      end
    end
    assign told_slot[n] = told_q;
    `TPT_ASSERT(Count_A, dut.pd_count_q[n] == shown(number_q))
    `TPT_ASSERT(Last_A, dut.pd_last_q[n] == last_q &&
                        (number_q == '0 || last_q % PdW'(NumPds) == PdW'(n)))
    `TPT_ASSERT(Number_A, number_q < NumberW'(1000 + Lanes))
  end

  `TPT_ASSERT(NewStream_A, dut.stream_alarm_q == (told_stream != '0))
  `TPT_ASSERT(NewSlot_A, dut.pd_alarm_q == (told_slot != '0))
  `TPT_ASSERT(Alarm_A, alarm == (told_stream != '0 || told_slot != '0))
  `TPT_ASSERT(ShowStream_A, 32'(sel_client_i) >= NumClients || 32'(sel_stream_i) >= NumStreams ||
              (stream_count == dut.count_q[sel_client_i][sel_stream_i[StrW-1:0]] &&
               stream_blocked == blocked[sel_client_i][sel_stream_i[StrW-1:0]]))
  `TPT_ASSERT(ShowNone_A, (32'(sel_client_i) < NumClients && 32'(sel_stream_i) < NumStreams) ||
                          (stream_count == '0 && !stream_blocked))
  `TPT_ASSERT(ShowSlot_A, pd_count == dut.pd_count_q[32'(sel_slot_i) % NumPds] &&
                          pd_last == dut.pd_last_q[32'(sel_slot_i) % NumPds])

  `TPT_COVER(Alarm_C, alarm && told_stream == '0)
  `TPT_COVER(Slots_C, told_slot[3] && told_stream != '0 && blocked == '0)
  `TPT_COVER(NotBad_C, valid_i == '1 && syndrome_i[0] != SynKeyTag && stream_count == 8'd2)
  if (Lanes > 1) begin : g_lanes
    `TPT_COVER(Two_C, bad_q == '1 && client_q[0] == client_q[1] && stream_q[0] == stream_q[1] &&
                      told_stream != '0)
    `TPT_COVER(BothReach_C, $countones(told_stream) == 2)
  end
endmodule

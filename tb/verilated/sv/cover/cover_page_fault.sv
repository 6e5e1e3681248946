// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "cover.svh"

/// Slots of page faults.
module cover_page_fault #(
  parameter int unsigned Slots   = 1,
  parameter int unsigned Clients = 1
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [Slots-1:0]   busy,
  input logic [Slots-1:0]   waiting,
  input logic [Slots-1:0]   owed,
  input logic               put,
  input logic               again,
  input logic               told,
  input logic               go,
  input logic               go_ready,
  input logic               refuse,
  input logic               absent,
  input logic               ans,
  input logic               ans_ok,
  input logic               room,
  input logic [Clients-1:0] stop,
  input logic               killed
);
  `COVER(SlotPut_C, put)
  `COVER(SlotPutAgain_C, put && again)
  `COVER(SlotPutTold_C, put && told)
  `COVER(SlotsFull_C, &busy && !room)
  `COVER(SlotsFullAsked_C, &busy && owed != '0)
  `COVER(SlotGo_C, go && go_ready && !refuse)
  `COVER(SlotGoWaits_C, go && !go_ready)
  `COVER(SlotRefused_C, go && refuse && absent)
  `COVER(SlotRetry_C, go && refuse && !absent)
  `COVER(SlotAnswerWaiting_C, ans && ans_ok && waiting != '0)
  `COVER(SlotAnswerWrong_C, ans && !ans_ok)
  `COVER(SlotAnswerAtPut_C, ans && put)
  `COVER(SlotStop_C, |stop && waiting != '0)
  `COVER(SlotStopAtPut_C, |stop && put)
  `COVER(SlotKilled_C, killed)
endmodule
bind tpt_page_fault cover_page_fault #(.Slots(Slots), .Clients(Clients)) u_cover (
  .clk_i, .rst_ni, .busy(~free), .waiting(wait_q), .owed(owed_q), .put(put_valid_i),
  .again(put_again_i), .told(put_told_i), .go(go_valid_o), .go_ready(go_ready_i),
  .refuse(go_refuse_o), .absent(go_absent_o), .ans(ans_valid_i), .ans_ok(ans_ok_o), .room(room_o),
  .stop(stop_i), .killed(killed_valid_i && killed_mine_o)
);

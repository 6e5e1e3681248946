// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_client_tags with tpt_fence: the state of every tag is as told, no tag is lost or released
/// twice, the requests of each epoch are counted exactly, and no `done` that is lost, doubled or
/// made up ends a fence early. Requests and `done` come at any time with any tag; the last beat of
/// a request comes once, when the solver likes.
///
/// TagW is made small, so that the states of all tags can be written down.
module client_tags_formal import tpt_pkg::*; (
  input logic            clk_i,
  input logic            rst_ni,
  input logic            clear_i,
  input logic            acc_valid_i,
  input logic [TagW-1:0] acc_tag_i,
  input logic            last_valid_i,
  input logic [TagW-1:0] last_tag_i,
  input logic            done_valid_i,
  input logic [TagW-1:0] done_tag_i,
  input logic            fence_i,
  input logic            mark_i,       // this fence is followed
  input logic [TagW-1:0] watch_i       // this tag is watched
);
  `TPT_FORMAL_RESET

  localparam int unsigned NumTags = 1 << TagW;

  logic       ready, busy, bit_now, bad_done, epoch, fence_busy, flip;
  logic [1:0] empty;
  logic [7:0] ticket, done_ticket;
  logic [NumTags-1:0] bit_q;    // given with the request
  tpt_client_tags dut (
    .clk_i, .rst_ni, .clear_i, .ready_o(ready), .acc_valid_i, .acc_tag_i, .epoch_i(epoch),
    .chk_busy_o(busy), .chk_bit_o(bit_now), .last_valid_i, .last_tag_i,
    .last_bit_i(bit_q[last_tag_i]), .done_valid_i, .done_tag_i, .ev_bad_done_o(bad_done),
    .empty_o(empty)
  );
  tpt_fence #(.NumClients(1)) u_fence (
    .clk_i, .rst_ni, .epoch_o(epoch), .old_empty_i(empty[!epoch]), .req_i(fence_i),
    .ticket_o(ticket), .done_ticket_o(done_ticket), .busy_o(fence_busy), .flip_o(flip)
  );

  // Tags are cleared in reset only here: a client that is reset is idle first.
  `TPT_ASSUME(NoClear_A, !clear_i)
  // The constant of the watched tag.
  logic [TagW-1:0] watch_q;
  always_ff @(posedge clk_i) watch_q <= watch_i;
  always @(posedge clk_i) begin Watch_A: assume (!init_q || watch_i == watch_q); end

  // State of each tag: free, in use until its last beat, until its `done`.
  typedef enum logic [1:0] {
    Free,
    Busy,
    Due
  } use_e;
  logic [NumTags-1:0][1:0] use_q;
  logic [NumTags-1:0]      epoch_q;
  // A request, and a `done`, are judged one clock after they come.
  logic                    t1_valid_q, t1_epoch_q, d1_valid_q;
  logic [TagW-1:0]         t1_tag_q, d1_tag_q;
  logic                    takes, frees;
  assign takes = t1_valid_q && use_q[t1_tag_q] == Free;
  assign frees = d1_valid_q && use_q[d1_tag_q] == Due;
  always_ff @(posedge clk_i) begin
    t1_tag_q   <= acc_tag_i;
    t1_epoch_q <= epoch;
    d1_tag_q   <= done_tag_i;
    if (!rst_ni) begin
      t1_valid_q <= 1'b0;
      d1_valid_q <= 1'b0;
      use_q      <= '0;
    end else begin
      t1_valid_q <= acc_valid_i;
      d1_valid_q <= done_valid_i;
      if (last_valid_i) use_q[last_tag_i] <= Due;
      if (frees) use_q[d1_tag_q] <= Free;
      if (takes) begin
        use_q[t1_tag_q]   <= Busy;
        epoch_q[t1_tag_q] <= t1_epoch_q;
        bit_q[t1_tag_q]   <= bit_now;
      end
    end
  end
  `TPT_ASSUME(LastOnce_A, !last_valid_i || use_q[last_tag_i] == Busy)

  `TPT_ASSERT(BusyExact_A, busy == (t1_valid_q && use_q[t1_tag_q] != Free))
  `TPT_ASSERT(BadDoneExact_A, bad_done == (d1_valid_q && use_q[d1_tag_q] != Due))
  // What the memories hold.
  for (genvar t = 0; t < NumTags; t++) begin : g_tag
    logic a, b, c;
    assign a = dut.u_a_acc.mem[t][0];
    assign b = dut.u_b_acc.mem[t][0];
    assign c = dut.u_c_dn.mem[t][0];
    `TPT_ASSERT(State_A, !ready || (use_q[t] == Free ? a == b :
                                    use_q[t] == Busy ? (a != b && c == b && bit_q[t] == a) :
                                                       (a != b && c == a)))
    `TPT_ASSERT(FreeLast_A, !ready || use_q[t] != Free || c == b)
    `TPT_ASSERT(Epoch_A, !ready || use_q[t] == Free || dut.u_a_acc.mem[t][1] == epoch_q[t])
    `TPT_ASSERT(Copies_A, !ready || (dut.u_a_dn.mem[t] == dut.u_a_acc.mem[t] &&
                                     dut.u_b_dn.mem[t] == dut.u_b_acc.mem[t]))
    `TPT_ASSERT(Legal_A, use_q[t] <= Due)
    // while the tags are being cleared
    `TPT_ASSERT(Clearing_A, ready || TagW'(t) >= dut.clr_tag_q || (!a && !b && !c))
    `TPT_ASSERT(ClearCopies_A, ready || TagW'(t) >= dut.clr_tag_q ||
                (dut.u_a_dn.mem[t] == dut.u_a_acc.mem[t] &&
                 dut.u_b_dn.mem[t] == dut.u_b_acc.mem[t]))
  end
  `TPT_ASSERT(ClearUnused_A, ready || (use_q == '0 && !t1_valid_q && !d1_valid_q))
  // Registers of the pipelines.
  `TPT_ASSERT(T1_A, dut.t1_valid_q == t1_valid_q && dut.d1_valid_q == d1_valid_q &&
                    (!t1_valid_q || (dut.t1_tag_q == t1_tag_q && dut.t1_epoch_q == t1_epoch_q)) &&
                    (!d1_valid_q || dut.d1_tag_q == d1_tag_q))
  `TPT_ASSERT(T1Read_A, !t1_valid_q || (dut.t1_a == dut.u_a_acc.mem[t1_tag_q][0] &&
                                        dut.t1_b == dut.u_b_acc.mem[t1_tag_q][0]))
  `TPT_ASSERT(D1Read_A, !d1_valid_q || (dut.d1_b == dut.u_b_acc.mem[d1_tag_q][0] &&
                                        dut.d1_c == dut.u_c_dn.mem[d1_tag_q][0]))
  // An acceptance in the clock before is not seen by the `done` beside it: it could not be right.
  `TPT_ASSERT(D1ReadA_A, !d1_valid_q || use_q[d1_tag_q] == Free ||
              use_q[d1_tag_q] == Busy ||
              (dut.dn_a == dut.u_a_acc.mem[d1_tag_q][0] &&
               dut.dn_a_epoch == dut.u_a_acc.mem[d1_tag_q][1]))
  `TPT_ASSERT(D1Free_A, !d1_valid_q || use_q[d1_tag_q] == Due || !dut.d1_ok)
  `TPT_ASSERT(D1Stale_A, !d1_valid_q || use_q[d1_tag_q] == Due ||
              dut.dn_a == dut.u_a_acc.mem[d1_tag_q][0] ||
              (use_q[d1_tag_q] == Busy && dut.dn_a == dut.u_b_acc.mem[d1_tag_q][0]))

  // The counters: in use, or not yet judged, or judged and not yet counted.
  for (genvar e = 0; e < 2; e++) begin : g_epoch
    logic [TagW+1:0] number;
    always_comb begin
      number = (TagW + 2)'(t1_valid_q && t1_epoch_q == 1'(e)) + (TagW + 2)'(dut.busy_q[e]) +
               (TagW + 2)'(dut.done_q[e]);
      for (int unsigned t = 0; t < NumTags; t++) begin
        number = number + (TagW + 2)'(use_q[t] != Free && epoch_q[t] == 1'(e));
      end
    end
    `TPT_ASSERT(Count_A, !ready || (TagW + 2)'(dut.cnt_q[e]) == number)
    `TPT_ASSERT(Empty_A, !ready || !empty[e] || number == '0)
    `TPT_ASSERT(Cleared_A, ready || (dut.cnt_q[e] == '0 && !dut.busy_q[e] && !dut.done_q[e]))
  end

  // A fence that is asked for while the watched tag is in use does not end before it is released.
  logic       fence_q, must_q;
  logic [7:0] ticket_q;
  logic       over, watched, enters;
  assign over    = (done_ticket - ticket_q) < 8'd128;
  assign watched = use_q[watch_i] != Free && !(frees && d1_tag_q == watch_i);
  // accepted before, or in the clock in which the fence is asked for
  assign enters  = takes && t1_tag_q == watch_i;
  logic same_q;   // the fence was asked for in the clock before
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fence_q <= 1'b0;
      must_q  <= 1'b0;
      same_q  <= 1'b0;
    end else begin
      same_q <= fence_i && mark_i && !fence_q;
      if (!fence_q && fence_i && mark_i) begin
        fence_q  <= 1'b1;
        ticket_q <= ticket;
        must_q   <= watched || enters;
      end else if (fence_q && over) begin
        fence_q <= 1'b0;
        must_q  <= 1'b0;
      end else begin
        must_q <= (must_q && watched) || (same_q && enters);
      end
    end
  end
  `TPT_ASSERT(NeverEarly_A, !(fence_q && must_q && over))
  `TPT_ASSERT(MustIn_A, !must_q || (fence_q && use_q[watch_i] != Free))
  `TPT_ASSERT(Ticket_A, !fence_q || over ||
                        (ticket_q == u_fence.next_q && u_fence.want_q) ||
                        (ticket_q == u_fence.next_q - 8'd1 && u_fence.run_q))
  `TPT_ASSERT(OverIsLast_A, !fence_q || !over || done_ticket == ticket_q)
  `TPT_ASSERT(OldEpoch_A, !must_q || ticket_q != u_fence.next_q - 8'd1 || !u_fence.run_q ||
                          epoch_q[watch_i] != epoch)
  // what was accepted in the clock in which it is asked for is still to be judged
  `TPT_ASSERT(Same_A, !same_q || (fence_q && (!t1_valid_q || ticket_q == u_fence.next_q ||
                                              t1_epoch_q != epoch)))
  `TPT_ASSERT(SameTicket_A, !same_q || !over)
  `TPT_ASSERT(RunSettle_A, u_fence.settle_q <= 4'd3)

  `TPT_COVER(Waits_C, must_q && fence_busy && d1_valid_q && bad_done)
  `TPT_COVER(Ends_C, fence_q && over && flip == 1'b0 && use_q != '0)
  `TPT_COVER(BusyTag_C, busy)
  `TPT_COVER(AllUsed_C, use_q[0] != Free && use_q[1] != Free && use_q[2] != Free)
  `TPT_COVER(Again_C, takes && bit_q[t1_tag_q] && use_q != '0)
endmodule

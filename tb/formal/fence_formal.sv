// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_fence: a fence does not end before a request that was accepted before it was asked for, or
/// in the same clock, is done; it ends when all old requests are done and stay so.
///
/// One request of any client is followed, accepted and done when the solver likes. What the clients
/// say is free as long as no client says "empty" while its request of that epoch is inside, from
/// the clock of the flip plus what the counters may lag behind (`Settle`).
module fence_formal #(
  parameter int unsigned NumClients = 2,
  parameter int unsigned Settle     = 3
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic [NumClients-1:0] old_empty_i,
  input logic                  req_i,
  input logic                  accept_i,   // the followed request is accepted
  input logic                  done_i,     // and done
  input logic                  mark_i      // the fence of this clock is followed
);
  `TPT_FORMAL_RESET

  logic       epoch, busy, flip;
  logic [7:0] ticket, done_ticket;
  tpt_fence #(.NumClients(NumClients), .Settle(Settle)) dut (
    .clk_i, .rst_ni, .epoch_o(epoch), .old_empty_i, .req_i, .ticket_o(ticket),
    .done_ticket_o(done_ticket), .busy_o(busy), .flip_o(flip)
  );

  // The followed request: inside, its epoch. It is the first client's.
  logic inside_q, epoch_q;
  // The followed fence.
  logic       fence_q;
  logic [7:0] ticket_q;
  logic       over;
  assign over = (done_ticket - ticket_q) < 8'd128;
  logic [4:0] since_q;   // clocks since a flip
  logic       must_q;    // the fence must wait for the request
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      fence_q  <= 1'b0;
      must_q   <= 1'b0;
      since_q  <= 5'd31;
    end else begin
      if (flip) since_q <= '0;
      else if (since_q != 5'd31) since_q <= since_q + 1'b1;
      if (!inside_q && accept_i) begin
        inside_q <= 1'b1;
        epoch_q  <= epoch;
      end else if (inside_q && done_i) begin
        inside_q <= 1'b0;
        must_q   <= 1'b0;
      end
      if (!fence_q && req_i && mark_i) begin
        fence_q  <= 1'b1;
        ticket_q <= ticket;
        must_q   <= (inside_q && !done_i) || (!inside_q && accept_i);
      end else if (fence_q && over) begin
        fence_q <= 1'b0;
        must_q  <= 1'b0;
      end
    end
  end
  // The counters may lag: right after a flip they may still speak of the other epoch.
  `TPT_ASSUME(Empty_A, !(inside_q && epoch_q != epoch && old_empty_i[0]) ||
                       since_q < 5'(Settle))
  // No flip is possible while the request is of the old epoch, so a request of the current one
  // was accepted after the last flip.
  `TPT_ASSERT(NeverEarly_A, !(fence_q && must_q && over))
  `TPT_ASSERT(MustInside_A, !must_q || (inside_q && fence_q))
  // A followed fence is the running one or the next one.
  `TPT_ASSERT(Ticket_A, !fence_q || over || (ticket_q == dut.next_q && dut.want_q) ||
                        (ticket_q == dut.next_q - 8'd1 && dut.run_q))
  `TPT_ASSERT(OverIsLast_A, !fence_q || !over || done_ticket == ticket_q)
  // If it is the running one, the request is of the old epoch.
  `TPT_ASSERT(Epoch_A, !must_q || ticket_q != dut.next_q - 8'd1 || !dut.run_q ||
                       epoch_q != epoch)
  `TPT_ASSERT(Since_A, !dut.run_q || 6'(since_q) + 6'(dut.settle_q) == 6'(Settle) ||
                       (dut.settle_q == '0 && since_q >= 5'(Settle)))

  `TPT_ASSERT(SinceIdle_A, dut.run_q || since_q >= 5'(Settle))

  // Progress: with all old requests done for good, the fence is over after at most two grace
  // periods.
  logic [5:0] age_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !fence_q || old_empty_i != '1) age_q <= '0;
    else if (!over) age_q <= age_q + 1'b1;
  end
  int unsigned left;   // clocks that are still needed at most
  always_comb begin
    left = dut.run_q ? 32'(dut.settle_q) + 1 : 0;
    if (ticket_q == dut.next_q) left = left + 1 + Settle + 1;
  end
  `TPT_ASSERT(Progress_A, !fence_q || over || 32'(age_q) + left <= 2 * Settle + 3)

  `TPT_COVER(Waits_C, must_q && busy && done_i)
  `TPT_COVER(Next_C, fence_q && must_q && dut.run_q && ticket_q == dut.next_q)
  `TPT_COVER(Ends_C, fence_q && over && !inside_q)
  `TPT_COVER(EndsBeside_C, fence_q && over && inside_q)
endmodule

// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Fence: waits until every request that was accepted before a moment is done, with two epochs.
///
/// Every request is counted, per client, in the epoch in which it was accepted. To run a grace
/// period the epoch is flipped; when no client has a request of the old epoch left, everything that
/// was accepted before the flip is done:
///
///     asked      flip                       old epoch empty
///       │          │  new requests: epoch 1        │
///     ──┴──────────┴──────────────────────────────┴──────────► time
///         epoch 0  │  epoch 0 drains               │ done_ticket_o = ticket
///
/// A fence that is asked for while a grace period runs needs the next one, because requests of the
/// running epoch may have been accepted before it was asked. All fences asked for until the next
/// flip share it. So a fence takes at most two grace periods, and the state does not grow with the
/// number of fences.
///
/// Latency: with no request inside, 3 + Settle clocks. Errors: none; a client that never gives
/// `done` holds the grace period for ever (the asking side has the time limit).
module tpt_fence #(
  /// Number of clients.
  parameter int unsigned NumClients = 2,
  /// Clocks after a flip in which old_empty_i is not yet looked at: the delay of the counters
  /// behind epoch_o. At least 1.
  parameter int unsigned Settle     = 3
) (
  /// Clock, and synchronous active-low reset.
  input  logic                  clk_i,
  input  logic                  rst_ni,

  /// Epoch in which a request that is accepted now is counted.
  output logic                  epoch_o,
  /// Per client: no accepted and not yet done request of the epoch that is not epoch_o. May lag
  /// behind epoch_o by up to Settle clocks.
  input  logic [NumClients-1:0] old_empty_i,

  /// Ask for a fence (one clock). Its ticket is valid in the same clock.
  input  logic                  req_i,
  output logic [7:0]            ticket_o,
  /// Last ticket whose grace period has ended. Ticket t is over if (done_ticket_o - t) mod 256 is
  /// below 128; tickets end in order.
  output logic [7:0]            done_ticket_o,

  /// A grace period runs or is asked for.
  output logic                  busy_o,
  /// One clock: a grace period begins.
  output logic                  flip_o
);

  if (NumClients < 1) begin : g_bad_clients
    $fatal(1, "tpt_fence: NumClients must be at least 1");
  end
  if (Settle < 1 || Settle > 15) begin : g_bad_settle
    $fatal(1, "tpt_fence: Settle must be 1 to 15");
  end

  logic       epoch_q;
  logic       run_q;     // a grace period runs
  logic       want_q;    // the next one is asked for
  logic [7:0] next_q;    // ticket of the next one; the running one has next_q - 1
  logic [7:0] done_q;
  logic [3:0] settle_q;

  logic all_empty, flip, over;
  assign all_empty = &old_empty_i;
  assign flip      = want_q && !run_q && all_empty;
  assign over      = run_q && (settle_q == 4'd0) && all_empty;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      epoch_q  <= 1'b0;
      run_q    <= 1'b0;
      want_q   <= 1'b0;
      next_q   <= 8'd0;
      done_q   <= 8'hff;
      settle_q <= 4'd0;
    end else begin
      // A fence asked for in the clock of the flip shares it: what is accepted in this clock is
      // still counted in the epoch that becomes the old one.
      want_q <= (want_q || req_i) && !flip;
      if (flip) begin
        epoch_q  <= !epoch_q;
        run_q    <= 1'b1;
        next_q   <= next_q + 8'd1;
        settle_q <= 4'(Settle);
      end else if (settle_q != 4'd0) begin
        settle_q <= settle_q - 4'd1;
      end
      if (over) begin
        run_q  <= 1'b0;
        done_q <= done_q + 8'd1;
      end
    end
  end

  assign epoch_o       = epoch_q;
  assign ticket_o      = next_q;
  assign done_ticket_o = done_q;
  assign busy_o        = run_q || want_q;
  assign flip_o        = flip;

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
  // The running grace period, if any, is the only one between the done and the next ticket.
  `TPT_ASSERT(TicketsFollow_A, (next_q - done_q) == (run_q ? 8'd2 : 8'd1))
  `TPT_ASSERT(FlipAlone_A, !(flip && over))
  `TPT_ASSERT(SettleOnlyRunning_A, (settle_q == 4'd0) || run_q)
  // A ticket is never over when it is given.
  `TPT_ASSERT(TicketFresh_A, !req_i || (ticket_o != done_q))
`ifndef SYNTHESIS
  logic       prev_ok_q, prev_epoch_q, prev_flip_q, prev_empty_q;
  logic [7:0] prev_done_q;
  always_ff @(posedge clk_i) begin
    prev_ok_q    <= rst_ni;
    prev_epoch_q <= epoch_q;
    prev_flip_q  <= flip;
    prev_empty_q <= all_empty;
    prev_done_q  <= done_q;
  end
  // The epoch changes only by a flip, and a flip and the end of a grace period only when the old
  // epoch was empty everywhere.
  `TPT_ASSERT(EpochOnlyByFlip_A, !prev_ok_q || ((epoch_q != prev_epoch_q) == prev_flip_q))
  `TPT_ASSERT(FlipOnlyEmpty_A, !prev_ok_q || (epoch_q == prev_epoch_q) || prev_empty_q)
  `TPT_ASSERT(DoneOnlyEmpty_A, !prev_ok_q || (done_q == prev_done_q) || prev_empty_q)
  // Once empty the old epoch stays empty until the next flip: nobody enters it.
  logic quiet_q;
  always_ff @(posedge clk_i) quiet_q <= rst_ni && !run_q && !flip && all_empty;
  `TPT_ASSUME(OldStaysEmpty_A, !quiet_q || all_empty)
`endif

endmodule

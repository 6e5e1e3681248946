// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "cover.svh"

/// The two caches: what a look-up finds, and what a removal meets.
module cover_cache (
  input logic clk_i,
  input logic rst_ni,
  input logic hit,
  input logic fill,
  input logic miss,
  input logic killed,
  input logic bypass,
  input logic failed,
  input logic read,
  input logic evict,
  input logic inv,
  input logic inv_done,
  input logic sweep,
  input logic sweep_all,
  input logic kill,
  input logic fdone,
  input logic fdone_store
);
  logic out_q;  // a read is on its way
  logic [15:0] reads_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) reads_q <= '0;
    else         reads_q <= reads_q + 16'(read) - 16'(fdone);
  end
  assign out_q = reads_q != '0;
  `COVER(CacheHit_C, hit)
  `COVER(CacheFill_C, fill)
  `COVER(CacheFillError_C, fill && failed)
  `COVER(CacheProbeMiss_C, miss)
  `COVER(CacheKilled_C, killed)
  `COVER(CacheBypass_C, bypass)
  `COVER(CacheEvict_C, evict)
  `COVER(CacheNotStored_C, fdone && !fdone_store)
  `COVER(CacheManyReads_C, reads_q > 16'd8)
  `COVER(CacheInvIdle_C, inv && !out_q)
  `COVER(CacheInvReading_C, inv && out_q)
  `COVER(CacheInvFill_C, inv && fdone)
  `COVER(CacheInvHit_C, inv && hit)
  `COVER(CacheInvDoneReading_C, inv_done && out_q)
  `COVER(CacheSweepOne_C, sweep && !sweep_all)
  `COVER(CacheSweepAll_C, sweep && sweep_all)
  `COVER(CacheSweepReading_C, sweep && out_q)
  `COVER(CacheSweepFill_C, sweep && fdone)
  `COVER(CacheSweepHit_C, sweep && hit)
  `COVER(CacheKill_C, kill)
  `COVER(CacheKillReading_C, kill && out_q)
endmodule
bind tpt_cache cover_cache u_cover (
  .clk_i, .rst_ni, .hit(res_valid_o && res_hit_o), .fill(res_valid_o && res_fill_o),
  .miss(res_valid_o && res_miss_o), .killed(res_valid_o && res_killed_o),
  .bypass(res_valid_o && res_bypass_o), .failed(res_err_o != '0), .read(rd_valid_o),
  .evict(ev_evict_o), .inv(inv_valid_i), .inv_done(inv_done_o), .sweep(sweep_valid_i),
  .sweep_all(sweep_all_i), .kill(kill_valid_i), .fdone(fdone_valid_i),
  .fdone_store(fdone_store_i)
);

// SPDX-License-Identifier: Apache-2.0
// walk_span and tpt_walk_line beside the walk in rust-hdl: `bad_o` is never 1, each bit of
// `seen_o` can be.
module eq_walk
  import tpt_pkg::*;
#(
  parameter int unsigned LineLog = 1
) (
  input  logic [2:0]        lvl_i,
  input  logic [2:0]        top_i,
  input  logic [2:0]        log_tpage_i,
  input  logic [FrameW-1:0] base_i,
  input  pos_t              pos_i,
  input  logic [5:0]        log_page_i,
  output logic [4:0]        bad_o,
  output logic [3:0]        seen_o
);

  logic [63:LineLog+3] root, page, place;
  logic [LineLog:0]    num;
  logic                ends;
  pos_t                next;
  logic [PageIdxW-1:0] eidx;
  assign eidx = pos_i.idx >> walk_span(lvl_i, log_tpage_i);
  tpt_walk_line #(.LineLog(LineLog)) u_rtl (
    .eidx_i(eidx), .lvl_i, .log_tpage_i, .base_i, .pos_i, .log_page_i,
    .root_o(root), .page_o(page), .place_o(place), .num_o(num), .end_o(ends), .next_o(next)
  );

  logic [PageIdxW-1:0] entry, next_page;
  logic [63:0]         address, in_table;
  logic [19:0]         want_num, next_np;
  logic [31:0]         next_rem;
  logic                want_ends;
  hdl_walk u_spec (
    .page(pos_i.idx), .lvl(lvl_i), .top(top_i), .log_tpage(log_tpage_i), .base(base_i),
    .log_page(log_page_i), .np(pos_i.np), .off(pos_i.off), .rem(pos_i.rem),
    .line_log(3'(LineLog)), .entry(entry), .address(address), .in_table(in_table), .num(want_num),
    .ends(want_ends), .next_page(next_page), .next_np(next_np), .next_rem(next_rem)
  );

  // Below the root, a table page is aligned to its size, which is one of five. Behind the last line
  // of a request there is nothing.
  logic legal, root_lvl, aligned, leaf, more;
  assign legal    = (lvl_i >= 3'd1) && (lvl_i <= 3'd4) && (log_tpage_i <= 3'd4) &&
                    (pos_i.np != '0);
  assign root_lvl = lvl_i == top_i;
  assign aligned  = (base_i & ~({FrameW{1'b1}} << log_tpage_i)) == '0;
  assign leaf     = lvl_i == 3'd1;
  assign more     = 21'(pos_i.np) + 21'(pos_i.idx[LineLog-1:0]) > 21'(2 ** LineLog);
  assign seen_o   = {legal && leaf && more, legal && leaf && !more,
                     legal && !root_lvl && aligned, legal && root_lvl && !aligned};
  assign bad_o[0] = legal && (eidx != entry);
  assign bad_o[1] = legal && (root_lvl || aligned) &&
                    ({root_lvl ? root : page, {(LineLog + 3){1'b0}}} != address);
  assign bad_o[2] = legal && ({place, {(LineLog + 3){1'b0}}} != in_table);
  assign bad_o[3] = legal && ({20'(num), leaf && ends} != {want_num, leaf && want_ends});
  assign bad_o[4] = legal && leaf && more &&
                    (next != {next_page, next_np, MaxLogPage'(0), next_rem});

endmodule

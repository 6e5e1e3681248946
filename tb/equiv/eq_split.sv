// SPDX-License-Identifier: Apache-2.0
// tpt_page_split beside the split in rust-hdl: `bad_o` is never 1, `seen_o` can be.
module eq_split
  import tpt_pkg::*;
#(
  parameter int unsigned PageW = 2
) (
  input  logic                  clk_i,
  input  logic [FrameW-1:0]     frame_i,
  input  logic [PageW-1:0]      page_i,
  input  logic [5:0]            log_page_i,
  input  logic [MaxLogPage-1:0] off_i,
  input  logic [31:0]           rem_i,
  output logic [3:0]            bad_o,
  output logic [0:0]            seen_o
);

  logic [63:0]       pa;
  logic [31:0]       len;
  logic [FrameW-1:0] last;
  logic [FrameW:0]   next;
  tpt_page_split #(.PageW(PageW)) u_rtl (
    .clk_i, .frame_i, .page_i, .log_page_i, .off_i, .rem_i, .pa_o(pa), .len_o(len),
    .last_o(last), .next_o(next)
  );

  typedef struct packed {
    logic              sound;  // a page of the request, and a frame of its size
    logic [63:0]       pa;
    logic [31:0]       len;
    logic [FrameW-1:0] last;
    logic [FrameW:0]   next;
  } spec_t;
  spec_t now;
  logic  spec_sound;
  spec_t [1:0] spec_q;
  hdl_split u_spec (
    .frame(frame_i), .page(4'(page_i)), .log_page(log_page_i), .off(off_i), .rem(rem_i),
    .pa(now.pa), .len(now.len), .last(now.last), .behind(now.next), .sound(spec_sound)
  );
  // The module's precondition. The description tells it too, but nothing is left out on its word.
  logic [63:0] first, size;
  assign size      = 64'd1 << log_page_i;
  assign first     = 64'(page_i) << log_page_i;
  assign now.sound = (log_page_i inside {[6'd12 : 6'd43]}) && (rem_i != '0) &&
                     (64'(off_i) < size) && (({frame_i, 12'd0} & (size - 64'd1)) == '0) &&
                     ((page_i == '0) || (first < 64'(off_i) + 64'(rem_i)));
  always_ff @(posedge clk_i) spec_q <= {spec_q[0], now};
  assign bad_o[0] = spec_q[1].sound && ({pa, len} != {spec_q[1].pa, spec_q[1].len});
  assign bad_o[1] = spec_q[1].sound && (last != spec_q[1].last);
  assign bad_o[2] = spec_q[1].sound && (next != spec_q[1].next);
  assign bad_o[3] = spec_sound != now.sound;
  assign seen_o[0] = spec_q[1].sound;

endmodule

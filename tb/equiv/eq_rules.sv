// SPDX-License-Identifier: Apache-2.0
// tpt_mpt_check beside the model that is made from the rules (tb/rulemodel), or beside the second
// description in rust-hdl (tb/leafspec, SPEC_HDL): `bad_o` is never 1, each bit of `seen_o` can be.
module eq_rules
  import tpt_pkg::*;
#(
  parameter int unsigned MttChecked = 1
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              valid_i,
  input req_t              req_i,
  input logic              disabled_i,
  input logic              tag_busy_i,
  input logic              role_i,
  input logic [IndexW-1:0] index_i,
  input logic              index_ok_i,
  input logic              looked_up_i,
  input mpt_entry_t        entry_i,
  input logic              bus_err_i,
  input logic              mpt_bad_i,
  input logic              parent_i,
  output logic [5:0]       bad_o,
  output logic [4:0]       seen_o
);

  logic                valid, empty, again;
  logic [4:0]          syndrome;
  logic [17:0]         mask;
  desc_t               desc;
  pos_t                pos;
  logic                unused_pay;

  tpt_mpt_check #(.PayW(1), .MttChecked(MttChecked)) u_rtl (
    .clk_i, .rst_ni, .valid_i, .pay_i(1'b0), .req_i, .disabled_i, .tag_busy_i, .role_i, .index_i,
    .index_ok_i, .looked_up_i, .entry_i, .bus_err_i, .mpt_bad_i, .parent_i,
    .valid_o(valid), .pay_o(unused_pay), .syndrome_o(syndrome), .empty_o(empty), .again_o(again),
    .mask_o(mask), .desc_o(desc), .pos_o(pos)
  );

  typedef struct packed {
    logic        unread;      // the entry that decides was not read: the caller must not do that
    logic        good_len;    // rules 0 and 1 hold, as they do of every request that comes again
    logic        live;        // a VALID entry was read for a good length: the mask is whole
    logic        range_fits;  // the region does not pass 2^64
    logic [4:0]  syndrome;
    logic        empty;
    logic        again;
    logic [17:0] mask;
    desc_t       desc;
    pos_t        pos;
  } spec_t;
  spec_t now;
  // Written out here: neither the judged block nor the description decides what is compared.
  logic len_ok, legal, spec_live, spec_fits;
  assign len_ok         = (req_i.op == 3'd4) ? (req_i.len == 32'd8)
                                             : (req_i.len inside {[32'd1 : 32'h8000_0000]});
  assign legal          = (entry_i.kind <= 3'd5) && (entry_i.level <= 3'd5) &&
                          (entry_i.log_tpage <= 3'd4) &&
                          (entry_i.encoding < ((MttChecked != 0) ? 2'd3 : 2'd2)) &&
                          ((entry_i.kind == 3'd4) ? (entry_i.level == 3'd0) &&
                                                    (entry_i.log_page == 6'd43)
                                                  : (entry_i.log_page inside {[6'd12 : 6'd43]}));
  assign now.unread     = !disabled_i && !tag_busy_i && len_ok && index_ok_i && !looked_up_i;
  assign now.good_len   = !parent_i || len_ok;
  assign now.live       = looked_up_i && index_ok_i && !bus_err_i && !mpt_bad_i &&
                          (entry_i.state == 2'd1) && legal && len_ok;
  assign now.range_fits = 65'(entry_i.start) + 65'(entry_i.length) <= {1'b1, 64'd0};

`ifdef SPEC_HDL
  hdl_check u_spec (
`else
  rules_check u_spec (
`endif
    .op(req_i.op), .tag(req_i.key[7:0]), .va(req_i.va), .len(req_i.len), .pd(req_i.pd),
    .qpn(req_i.qpn), .req_tag(req_i.tag), .disabled(disabled_i), .tag_busy(tag_busy_i),
    .role(role_i), .index(index_i), .index_ok(index_ok_i), .looked_up(looked_up_i),
    .bus(bus_err_i), .crc_bad(mpt_bad_i), .parent(parent_i), .cap_checked(MttChecked != 0),
    .state(entry_i.state), .kind(entry_i.kind), .access(entry_i.access),
    .log_page(entry_i.log_page), .level(entry_i.level), .log_tpage(entry_i.log_tpage),
    .encoding(entry_i.encoding), .lkey_tag(entry_i.lkey_tag), .rkey_tag(entry_i.rkey_tag),
    .gen(entry_i.gen), .e_pd(entry_i.pd), .e_qpn(entry_i.qpn), .start(entry_i.start),
    .length(entry_i.length), .frame0(entry_i.frame[0]), .frame1(entry_i.frame[1]),
    .frame2(entry_i.frame[2]), .frame3(entry_i.frame[3]),
    .syndrome(now.syndrome), .empty(now.empty), .again(now.again), .live(spec_live),
    .mask(now.mask), .range_fits(spec_fits), .o_frame0(now.desc.frame[0]),
    .o_frame1(now.desc.frame[1]), .o_frame2(now.desc.frame[2]), .o_frame3(now.desc.frame[3]),
    .o_encoding(now.desc.encoding), .o_index(now.desc.index), .o_gen(now.desc.gen),
    .o_level(now.desc.level), .o_log_page(now.desc.log_page),
    .o_log_tpage(now.desc.log_tpage), .o_tag(now.desc.tag), .o_rem(now.pos.rem),
    .o_write(now.desc.write), .o_ondemand(now.desc.ondemand), .o_relaxed(now.desc.relaxed),
    .o_idx(now.pos.idx), .o_np(now.pos.np), .o_off(now.pos.off)
  );

  // The expectation travels as long as the request.
  spec_t [CheckLatency-1:0] spec_q;
  logic  [CheckLatency-1:0] valid_q;
  logic                     idle_q;
  always_ff @(posedge clk_i) begin
    spec_q <= {spec_q[CheckLatency-2:0], now};
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= {valid_q[CheckLatency-2:0], valid_i};
    idle_q <= !rst_ni;
  end
  spec_t want;
  always_comb begin
    want = spec_q[CheckLatency-1];
    if (idle_q || !valid_q[CheckLatency-1]) begin
      want          = '0;
      want.syndrome = SynDisabled;
    end
    if (want.unread) begin
      want.syndrome = SynMptBad;
      want.desc     = '0;
      want.pos      = '0;
    end
  end

  // Refused: the bit of the syndrome is in the mask. Without an entry that decides: refused, for
  // whatever reason.
  logic granted, refused;
  assign granted  = (want.syndrome == SynOk) && !want.empty;
  assign refused  = valid_q[CheckLatency-1] && !want.unread && want.good_len &&
                    (syndrome != SynOk) && !again;
  assign bad_o[0] = valid != valid_q[CheckLatency-1];
  assign bad_o[1] = want.unread ? (syndrome == SynOk) || again || empty
                                : {syndrome, empty, again} !=
                                  {want.syndrome, want.empty, want.again};
  assign bad_o[2] = (want.live && (mask != want.mask)) || (refused && !mask[syndrome]) ||
                    (granted && mask != '0);
  assign bad_o[3] = desc != want.desc;
  // The number of the page if the region does not pass 2^64: registration sees to that.
  assign bad_o[4] = ({pos.np, pos.off, pos.rem} != {want.pos.np, want.pos.off, want.pos.rem}) ||
                    ((want.range_fits || !granted) && (pos.idx != want.pos.idx));
  assign bad_o[5] = {spec_live, spec_fits} != {now.live, now.range_fits};
  assign seen_o   = {want.again, want.unread && valid, refused, granted && want.range_fits,
                     want.live && (mask != '0)};

endmodule

// SPDX-License-Identifier: Apache-2.0
// tpt_key_dec beside the decoder in rust-hdl, for every secret: `bad_o` is never 1, `seen_o`
// can be.
module eq_key_dec
  import tpt_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  logic [23:0] field_i,
  input  logic [127:0] secret_i,
  input  logic        plain_i,
  output logic [1:0]  bad_o,
  output logic [0:0]  seen_o
);

  // Settings: any, and constant from a clock before the key until it is out.
  logic [128:0]             set_q;
  logic [KeyDecLatency-1:0] same_q;
  logic                     same, settled;
  assign same    = {plain_i, secret_i} == set_q;
  assign settled = same && (same_q == '1);
  always_ff @(posedge clk_i) begin
    set_q  <= {plain_i, secret_i};
    same_q <= {same_q[KeyDecLatency-2:0], same};
  end

  logic              valid, role, unused_pay, want_role;
  logic [IndexW-1:0] index, want_index;
  tpt_key_dec #(.PayW(1)) u_rtl (
    .clk_i, .rst_ni, .valid_i, .field_i, .pay_i(1'b0), .plain_i,
    .perm_secret_i(secret_i), .valid_o(valid), .role_o(role), .index_o(index),
    .pay_o(unused_pay)
  );

  // The field, and whether it is one, as long as the key travels.
  logic [KeyDecLatency-1:0][23:0] field_q;
  logic [KeyDecLatency-1:0]       valid_q;
  always_ff @(posedge clk_i) begin
    field_q <= {field_q[KeyDecLatency-2:0], field_i};
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= {valid_q[KeyDecLatency-2:0], valid_i};
  end
  hdl_key_dec u_spec (
    .field(field_q[KeyDecLatency-1]), .secret(secret_i), .plain(plain_i),
    .role(want_role), .index(want_index)
  );
  assign seen_o[0] = settled && valid;
  assign bad_o[0] = valid != valid_q[KeyDecLatency-1];
  assign bad_o[1] = settled && {role, index} != {want_role, want_index};

endmodule

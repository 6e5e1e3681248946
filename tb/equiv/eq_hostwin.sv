// SPDX-License-Identifier: Apache-2.0
// tpt_hostwin beside windows in rust-hdl: `bad_o` is never 1, each bit of
// `seen_o` can be.
module eq_hostwin
  import tpt_pkg::*;
#(
  parameter int unsigned NumWindows = 4
) (
  input  logic [NumWindows-1:0]             enable_i,
  input  logic [NumWindows-1:0][FrameW-1:0] base_i,
  input  logic [NumWindows-1:0][FrameW-1:0] limit_i,
  input  logic [FrameW-1:0]                 first_i,
  input  logic [FrameW-1:0]                 last_i,
  output logic [0:0]                        bad_o,
  output logic [1:0]                        seen_o
);

  logic                  ok;
  logic [NumWindows-1:0] holds;
  tpt_hostwin #(.NumWindows(NumWindows)) u_rtl (
    .enable_i, .base_i, .limit_i, .first_i, .last_i, .ok_o(ok)
  );
  for (genvar w = 0; w < NumWindows; w++) begin : g_window
    hdl_window u_spec (
      .enable(enable_i[w]), .base(base_i[w]), .limit(limit_i[w]), .first(first_i),
      .last(last_i), .holds(holds[w])
    );
  end
  assign seen_o = {!ok, ok && (enable_i != '0)};
  assign bad_o[0] = ok != ((enable_i == '0) || (holds != '0));

endmodule

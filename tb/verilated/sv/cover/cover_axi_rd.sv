// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "cover.svh"

/// The memory port.
module cover_axi_rd (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       ar_wait,
  input logic       r,
  input logic       r_last,
  input logic [1:0] r_resp
);
  `COVER(ReadWaits_C, ar_wait)
  `COVER(ReadOk_C, r && r_last && r_resp == 2'd0)
  `COVER(ReadSlvErr_C, r && r_resp == 2'd2)
  `COVER(ReadDecErr_C, r && r_resp == 2'd3)
  `COVER(ReadBurst_C, r && !r_last)
endmodule
bind tpt_axi_rd cover_axi_rd u_cover (
  .clk_i, .rst_ni, .ar_wait(m_axi_arvalid_o && !m_axi_arready_i),
  .r(m_axi_rvalid_i && m_axi_rready_o), .r_last(m_axi_rlast_i), .r_resp(m_axi_rresp_i)
);

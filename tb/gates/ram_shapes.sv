// SPDX-License-Identifier: Apache-2.0
/// RAMs of the shapes that make Yosys use the block RAM in each of its widths. `ram_tb` compares
/// this RTL with its netlist (tools/gate_ram.py).
module ram_shapes (
  input  logic        clk_i,
  input  logic [3:0]  we_i,
  input  logic [13:0] waddr_i,
  input  logic [35:0] wdata_i,
  input  logic [13:0] raddr_i,
  output logic [9:0][35:0] rdata_o
);

  localparam int unsigned Shapes = 9;
  localparam int unsigned Width[Shapes] = '{1, 2, 4, 9, 18, 36, 31, 7, 36};
  localparam int unsigned Depth[Shapes] = '{16384, 8192, 4096, 2048, 1024, 512, 512, 2048, 1024};
  localparam bit [Shapes-1:0] OutReg = 9'b1_1000_0000;

  for (genvar s = 0; s < Shapes; s++) begin : g_shape
    logic [Width[s]-1:0] rdata;
    tpt_ram_1r1w #(
      .Width(Width[s]), .Depth(Depth[s]), .OutReg(OutReg[s])
    ) u_ram (
      .clk_i,
      .we_i   (we_i[0]),
      .waddr_i(waddr_i[$clog2(Depth[s])-1:0]),
      .wdata_i(wdata_i[Width[s]-1:0]),
      .raddr_i(raddr_i[$clog2(Depth[s])-1:0]),
      .rdata_o(rdata)
    );
    assign rdata_o[s] = 36'(rdata);
  end

  // Bytes of a word, which no RAM of the unit writes alone.
  logic [35:0] mem [512];
  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 4; b++) if (we_i[b]) mem[waddr_i[8:0]][9*b +: 9] <= wdata_i[9*b +: 9];
    rdata_o[Shapes] <= mem[raddr_i[8:0]];
  end

endmodule

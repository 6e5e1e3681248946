// SPDX-License-Identifier: Apache-2.0
/// Compares `ram_shapes` with its netlist on the models of the block RAM that `ram_models` has, the
/// good one first: random words, and reads of what is or was just written.
module ram_tb (
  input logic clk_i
);
  import ram_pkg::Models;

  localparam int unsigned Words = 16384;
  localparam int unsigned Clocks = 100_000;
  localparam int unsigned Columns = 10;

  logic [3:0]  we = '1;
  logic [13:0] waddr = '0, raddr = '0;
  logic [35:0] wdata = '0;
  logic [Columns-1:0][35:0] want;
  logic [Models-1:0][Columns-1:0][35:0] have;
  int unsigned differ[Models];
  int unsigned n = 0;

  ram_shapes u_rtl (
    .clk_i, .we_i(we), .waddr_i(waddr), .wdata_i(wdata), .raddr_i(raddr), .rdata_o(want)
  );
  ram_models u_models (
    .clk_i, .we_i(we), .waddr_i(waddr), .wdata_i(wdata), .raddr_i(raddr), .rdata_o(have)
  );

  always @(posedge clk_i) begin
    n <= n + 1;
    wdata <= {$urandom, 4'($urandom)};
    if (n < Words) begin
      waddr <= waddr + 1'b1;
    end else begin
      we    <= 4'($urandom) & 4'($urandom);
      waddr <= 2'($urandom) == 0 ? raddr : 14'($urandom);
      raddr <= 1'($urandom) ? waddr : 14'($urandom);
    end
    // Behind the first words, all that is read was written.
    for (int unsigned m = 0; m < Models; m++) begin
      for (int unsigned s = 0; s < Columns; s++) begin
        if (n >= Words + 4 && have[m][s] != want[s]) differ[m]++;
      end
    end
    if (n == Words + 4 + Clocks) begin
      for (int unsigned m = 0; m < Models; m++) $display("model %0d: %0d differ", m, differ[m]);
      $display("reads: %0d", Clocks * Columns);
      $finish;
    end
  end

endmodule

// SPDX-License-Identifier: Apache-2.0
/// Compares `ram_shapes` with its netlist on the models of the block RAM that `ram_models` has, the
/// good one first: random words, and reads of what is or was just written.
module ram_tb;
  import ram_pkg::Models;

  localparam int unsigned Clocks = 100_000;

  logic        clk = 1'b0;
  logic [3:0]  we;
  logic [13:0] waddr, raddr;
  logic [35:0] wdata;
  logic [9:0][35:0] want;
  logic [Models-1:0][9:0][35:0] have;
  int unsigned differ[Models];

  ram_shapes u_rtl (
    .clk_i(clk), .we_i(we), .waddr_i(waddr), .wdata_i(wdata), .raddr_i(raddr), .rdata_o(want)
  );
  ram_models u_models (
    .clk_i(clk), .we_i(we), .waddr_i(waddr), .wdata_i(wdata), .raddr_i(raddr), .rdata_o(have)
  );

  task automatic step();
    #1 clk = 1'b1;
    #1 clk = 1'b0;
  endtask

  initial begin
    we = '1;
    raddr = '0;
    for (int unsigned a = 0; a < 16384; a++) begin
      waddr = 14'(a);
      wdata = {$urandom, 4'($urandom)};
      step();
    end
    for (int unsigned n = 0; n < Clocks; n++) begin
      raddr = 1'($urandom) ? waddr : 14'($urandom);
      we = 4'($urandom) & 4'($urandom);
      waddr = 2'($urandom) == 0 ? raddr : 14'($urandom);
      wdata = {$urandom, 4'($urandom)};
      step();
      // What was read before there was a word in the output register.
      if (n < 4) continue;
      for (int unsigned m = 0; m < Models; m++) begin
        for (int unsigned s = 0; s < 10; s++) if (have[m][s] != want[s]) differ[m]++;
      end
    end
    for (int unsigned m = 0; m < Models; m++) $display("model %0d: %0d differ", m, differ[m]);
    $display("reads: %0d", (Clocks - 4) * 10);
    $finish;
  end

endmodule

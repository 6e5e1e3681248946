// SPDX-License-Identifier: Apache-2.0
// The clock of ram_tb, which ends the simulation itself.
#include "Vram_tb.h"
#include "verilated.h"

int main(int argc, char** argv) {
  VerilatedContext context;
  context.commandArgs(argc, argv);
  context.randReset(2);
  Vram_tb bench{&context};
  for (int half = 0; half < 1000000 && !context.gotFinish(); ++half) {
    bench.clk_i = half & 1;
    bench.eval();
  }
  bench.final();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Sources that every board has beside those of rtl/tpt.f, in order of compilation.
fpga/rtl/tpt_link_pkg.sv
fpga/rtl/tpt_uart_rx.sv
fpga/rtl/tpt_uart_tx.sv
fpga/rtl/tpt_link_rx.sv
fpga/rtl/tpt_link_tx.sv
fpga/rtl/tpt_link_exec.sv
fpga/rtl/tpt_board_ram.sv
fpga/rtl/tpt_board.sv

# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
# AMD UltraScale+ (Alveo class), tpt_top alone ("out of context"): no pins, no pads. Read by
# fpga/amd/ooc.tcl with `read_xdc -mode out_of_context`. Not used when the unit is part of a design:
# there the clock comes from above, and a second clock on clk_i would hide it.

# The only clock: 250 MHz, as the user clock of a PCIe block of an Alveo card usually is.
create_clock -name clk_i -period 4.000 [get_ports clk_i]

# Where the buffer of the clock will be in the design above. Without it Vivado takes a clock network
# without delay, so that skew is left out of the figures. Which sites there are depends on the part:
# put one in that `get_sites BUFGCE*` lists, then take the comment away.
# set_property HD.CLK_SRC BUFGCE_X0Y0 [get_ports clk_i]

# Neighbours are flip-flops of the same clock. A quarter of the period is left to the way outside:
# 0.2 ns for clock-to-output, the rest for wires. -min 0 checks hold against a neighbour without any
# delay, which is the hardest case.
set_input_delay -clock clk_i -max 1.000 [get_ports -filter {DIRECTION == IN && NAME != clk_i}]
set_input_delay -clock clk_i -min 0.000 [get_ports -filter {DIRECTION == IN && NAME != clk_i}]
set_output_delay -clock clk_i -max 1.000 [get_ports -filter {DIRECTION == OUT}]
set_output_delay -clock clk_i -min 0.000 [get_ports -filter {DIRECTION == OUT}]

# No false paths and no multicycle paths: rst_ni is synchronous and timed like any other input.

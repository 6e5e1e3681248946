# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
# Synthesis and implementation of tpt_top out of context with Vivado, without a project on disk.
#
#   vivado -mode batch -source fpga/amd/ooc.tcl \
#     -tclargs -config default -part xcu250-figd2104-2L-e -until route
#
# -config  a configuration of rtl/configs.toml          (default)
# -part    the chip: any UltraScale+ part               (xcu250-figd2104-2L-e: Alveo U250)
# -until   synth: stop after synthesis; route: go on    (route)
# -out     folder for reports and checkpoints           (build/amd)
#
# The clock is in constraints/amd_ooc.xdc. Exit code 1 if it is not met.

source [file join [file dirname [info script]] common.tcl]

array set option [tpt::options {
  -config default -part xcu250-figd2104-2L-e -until route -out build/amd
}]
if {$option(-until) ni {synth route}} {
  tpt::die "-until is $option(-until); it must be synth or route"
}
set out [file join $tpt::root $option(-out) $option(-config)]
file mkdir $out

# A list of NAME=VALUE, as synth_design takes parameters.
set generics {}
foreach {name value} [tpt::config $option(-config)] { lappend generics "$name=$value" }

create_project -in_memory -part $option(-part)
read_verilog -sv [tpt::sources]
read_xdc -mode out_of_context [file join $tpt::root constraints amd_ooc.xdc]

# SYNTHESIS leaves the assertions out. -mode out_of_context puts no pads at the ports.
synth_design -top tpt_top -part $option(-part) -mode out_of_context \
  -include_dirs [file join $tpt::root rtl] -verilog_define SYNTHESIS \
  -generic $generics -flatten_hierarchy rebuilt
write_checkpoint -force [file join $out synth.dcp]
report_utilization -file [file join $out synth-utilization.txt]
report_utilization -hierarchical -file [file join $out synth-hierarchy.txt]
report_ram_utilization -file [file join $out synth-ram.txt]
report_timing_summary -file [file join $out synth-timing.txt]

if {$option(-until) eq "route"} {
  opt_design
  place_design
  phys_opt_design
  route_design
  write_checkpoint -force [file join $out route.dcp]
  report_utilization -file [file join $out route-utilization.txt]
  report_timing_summary -max_paths 10 -file [file join $out route-timing.txt]
  report_drc -file [file join $out route-drc.txt]
}

# The worst slack of set-up and of hold; hold says something only after routing.
set kinds [expr {$option(-until) eq "route" ? {setup hold} : {setup}}]
set failed 0
foreach kind $kinds {
  set slack [get_property SLACK [get_timing_paths -max_paths 1 -$kind]]
  puts "tpt_top, $option(-config), $option(-part): worst $kind slack $slack ns"
  if {![string is double -strict $slack]} {
    tpt::die "there is no $kind path: is the clock of constraints/amd_ooc.xdc on clk_i?"
  }
  if {$slack < 0} { set failed 1 }
}
if {$failed} { tpt::die "the clock of constraints/amd_ooc.xdc is not met" }

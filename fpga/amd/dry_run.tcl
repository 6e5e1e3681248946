# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
# Stand-ins for the Vivado commands that the scripts of this folder use, so that plain tclsh can run
# them: tools/amd_check.py does. Each stand-in knows options of the real command, refuses others,
# and records its call as one Tcl list in the file of the environment variable TPT_DRY_RUN.
#
#   tclsh fpga/amd/dry_run.tcl SCRIPT ?OPTION VALUE ...?
#
# TPT_PORTS: ports of tpt_top, a list of {NAME IN|OUT}. TPT_SLACK: what a timing path answers.

namespace eval dry {
  variable log [open $::env(TPT_DRY_RUN) w]
  variable ports $::env(TPT_PORTS)
  variable slack [expr {[info exists ::env(TPT_SLACK)] ? $::env(TPT_SLACK) : "0.1"}]

  # Options of each command: with 1 they have a value, with 0 they are flags. The number in front is
  # how many other words the command takes: {least most}.
  variable commands {
    create_project        {{0 2} -in_memory 0 -force 0 -part 1}
    read_verilog          {{1 1} -sv 0 -library 1}
    read_xdc              {{1 1} -mode 1 -unmanaged 0 -ref 1 -cells 1}
    synth_design          {{0 0} -top 1 -part 1 -mode 1 -include_dirs 1 -verilog_define 1
                           -generic 1 -flatten_hierarchy 1 -directive 1}
    opt_design            {{0 0} -directive 1}
    place_design          {{0 0} -directive 1}
    phys_opt_design       {{0 0} -directive 1}
    route_design          {{0 0} -directive 1}
    write_checkpoint      {{1 1} -force 0}
    report_utilization    {{0 0} -file 1 -hierarchical 0}
    report_ram_utilization {{0 0} -file 1}
    report_timing_summary {{0 0} -file 1 -max_paths 1}
    report_drc            {{0 0} -file 1}
    get_timing_paths      {{0 0} -max_paths 1 -setup 0 -hold 0}
    get_property          {{2 2}}
    set_property          {{3 3}}
    add_files             {{1 1} -norecurse 0 -fileset 1}
    get_files             {{1 1}}
    current_fileset       {{0 0}}
    update_compile_order  {{0 0} -fileset 1}
    create_clock          {{1 1} -name 1 -period 1}
    set_input_delay       {{2 2} -clock 1 -max 0 -min 0}
    set_output_delay      {{2 2} -clock 1 -max 0 -min 0}
    set_false_path        {{0 0} -from 1 -to 1}
    get_ports             {{0 1} -filter 1}
    ipx::package_project  {{0 0} -root_dir 1 -vendor 1 -library 1 -taxonomy 1 -import_files 0
                           -force 0 -set_current 1}
    ipx::current_core     {{0 0}}
    ipx::get_bus_interfaces {{1 1} -quiet 0 -of_objects 1}
    ipx::remove_bus_interface {{2 2}}
    ipx::infer_bus_interface {{3 3}}
    ipx::get_bus_parameters {{1 1} -quiet 0 -of_objects 1}
    ipx::add_bus_parameter {{2 2}}
    ipx::associate_bus_interfaces {{1 1} -busif 1 -clock 1 -reset 1}
    ipx::create_xgui_files {{1 1}}
    ipx::update_checksums {{1 1}}
    ipx::check_integrity  {{1 1}}
    ipx::save_core        {{1 1}}
  }

  proc fail {text} {
    puts stderr "dry_run: $text"
    exit 1
  }

  # Takes a call apart, records it, and answers what the script needs to go on.
  proc call {name words} {
    variable commands
    variable log
    array set known [lassign [dict get $commands $name] bounds]
    set option [dict create]
    set others {}
    for {set i 0} {$i < [llength $words]} {incr i} {
      set word [lindex $words $i]
      if {[regexp {^-[a-z]} $word]} {
        if {![info exists known($word)]} { fail "$name has no option $word" }
        if {$known($word)} {
          if {[incr i] >= [llength $words]} { fail "$name: $word needs a value" }
          dict set option $word [lindex $words $i]
        } else {
          dict set option $word 1
        }
      } else {
        lappend others $word
      }
    }
    lassign $bounds least most
    if {[llength $others] < $least || [llength $others] > $most} {
      fail "$name takes $least to $most words besides options, not [llength $others]: $others"
    }
    puts $log [list $name $option $others]
    flush $log
    return [answer $name $option $others]
  }

  proc answer {name option others} {
    variable slack
    switch -- $name {
      read_verilog - add_files {
        foreach file [lindex $others 0] {
          if {![file exists $file]} { fail "$name: $file does not exist" }
        }
      }
      read_xdc {
        set file [lindex $others 0]
        if {![file exists $file]} { fail "read_xdc: $file does not exist" }
        uplevel #0 [list source $file]
      }
      get_ports { return [ports $option $others] }
      get_property { return $slack }
      get_timing_paths { return path }
      current_fileset { return sources_1 }
      get_files { return [lindex $others 0] }
      ipx::current_core { return core }
      ipx::get_bus_interfaces { return [interfaces [lindex $others 0]] }
      ipx::get_bus_parameters { return {} }
      ipx::add_bus_parameter { return parameter }
      ipx::check_integrity { return 1 }
      ipx::infer_bus_interface {
        set names [lmap port $::dry::ports {lindex $port 0}]
        set port [lindex $others 0]
        if {$port ni $names} { fail "ipx::infer_bus_interface: tpt_top has no port $port" }
      }
    }
    return ""
  }

  # Ports by name and filter. A name that fits no port is an error, as it would be of a constraint.
  proc ports {option others} {
    variable ports
    set found {}
    foreach port $ports {
      lassign $port name direction
      set fits [expr {[llength $others] == 0 || [string match [lindex $others 0] $name]}]
      if {[dict exists $option -filter]} {
        foreach part [split [string map {&& \x00} [dict get $option -filter]] \x00] {
          if {![regexp {^\s*(DIRECTION|NAME)\s*(==|!=)\s*(\w+)\s*$} $part -> key sign value]} {
            fail "get_ports: cannot read the filter `$part`"
          }
          set is [expr {$key eq "NAME" ? $name : $direction}]
          if {($is eq $value) != ($sign eq "==")} { set fits 0 }
        }
      }
      if {$fits} { lappend found $name }
    }
    if {![llength $found]} { fail "get_ports $others $option: tpt_top has no such port" }
    return $found
  }

  # Interfaces that are there if ports begin with their name.
  proc interfaces {name} {
    variable ports
    foreach port $ports {
      if {[string match "${name}*" [lindex $port 0]]} { return $name }
    }
    return {}
  }
}

namespace eval ipx {}
foreach {name -} $dry::commands {
  proc ::$name {args} [format {return [::dry::call %s $args]} $name]
}
# Anything else that Tcl does not know is a command this file has no stand-in for.
proc unknown {args} { ::dry::fail "unknown command [lindex $args 0]" }

set script [lindex $argv 0]
set argv [lrange $argv 1 end]
if {[catch {source $script} text]} { dry::fail "$script: $text" }

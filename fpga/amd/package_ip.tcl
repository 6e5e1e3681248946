# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
# Packages tpt_top as an IP for Vivado's catalogue, with copies of the sources.
#
#   vivado -mode batch -source fpga/amd/package_ip.tcl -tclargs -out build/amd/ip
#
# -part  any part of the families the IP shall be for   (xcu250-figd2104-2L-e: Alveo U250)
# -out   folder of the IP: name it as an IP repository  (build/amd/ip)
#
# The packager finds the interfaces s_axil, m_axi, s_axis_cmd and m_axis_cpl, clock, reset and
# interrupt by the names of their ports. The channels of the clients are vectors with a part for
# each client, which the packager would take for one stream: they stay plain ports here.
# component.xml at the root of the project, made by tools/ipxact.py, has an interface for each.

source [file join [file dirname [info script]] common.tcl]

array set option [tpt::options {-part xcu250-figd2104-2L-e -out build/amd/ip}]
set out [file join $tpt::root $option(-out)]

# Version of the hardware, as the register VERSION says.
if {![regexp {<spirit:version>([\d.]+)</spirit:version>} [tpt::text_of component.xml] -> version]} {
  tpt::die "component.xml has no version: run tools/ipxact.py"
}

create_project -force -part $option(-part) tpt_ip [file join $tpt::root build amd project]
add_files -norecurse [tpt::sources]
add_files -norecurse [file join $tpt::root rtl tpt_assert.svh]
set_property file_type SystemVerilog [get_files *.sv]
set_property file_type {Verilog Header} [get_files *.svh]
set_property verilog_define SYNTHESIS [current_fileset]
set_property top tpt_top [current_fileset]
update_compile_order -fileset [current_fileset]

ipx::package_project -root_dir $out -vendor opentpt -library rdma -taxonomy /UserIP \
  -import_files -force -set_current true
set core [ipx::current_core]
# As the register VERSION says; the display name is what the catalogue shows.
set_property name tpt $core
set_property version $version $core
set_property display_name "OpenTPT translation and protection unit" $core
set_property description "Translation and protection unit of an RDMA NIC" $core
set_property supported_families {virtexuplus Beta virtexuplusHBM Beta kintexuplus Beta} $core

# Vectors of clients are no streams of their own.
foreach name {s_axis_req m_axis_rsp s_axis_done} {
  if {[llength [ipx::get_bus_interfaces $name -quiet -of_objects $core]]} {
    ipx::remove_bus_interface $name $core
  }
}
# Clock, reset and interrupt, whatever the packager has made of their names.
ipx::infer_bus_interface clk_i xilinx.com:signal:clock_rtl:1.0 $core
ipx::infer_bus_interface rst_ni xilinx.com:signal:reset_rtl:1.0 $core
ipx::infer_bus_interface irq_o xilinx.com:signal:interrupt_rtl:1.0 $core
set reset [ipx::get_bus_interfaces rst_ni -of_objects $core]
set polarity [ipx::get_bus_parameters POLARITY -quiet -of_objects $reset]
if {![llength $polarity]} { set polarity [ipx::add_bus_parameter POLARITY $reset] }
set_property value ACTIVE_LOW $polarity
foreach name {s_axil m_axi s_axis_cmd m_axis_cpl} {
  if {![llength [ipx::get_bus_interfaces $name -quiet -of_objects $core]]} {
    tpt::die "the packager has not found the interface $name of tpt_top"
  }
  ipx::associate_bus_interfaces -busif $name -clock clk_i -reset rst_ni $core
}

ipx::create_xgui_files $core
ipx::update_checksums $core
if {![ipx::check_integrity $core]} { tpt::die "the packaged IP is not in order: see above" }
ipx::save_core $core
puts "opentpt:rdma:tpt:$version is in $option(-out): set ip_repo_paths to that folder"

# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
# What the Vivado scripts of this folder share: paths, the file list, the named configurations,
# the command line. Plain Tcl 8.5.

namespace eval tpt {
  variable root [file normalize [file join [file dirname [info script]] .. ..]]

  # Ends the script with a message and exit code 1.
  proc die {text} {
    puts stderr "ERROR: $text"
    exit 1
  }

  # Text of a file of the project.
  proc text_of {name} {
    variable root
    set path [file join $root $name]
    if {![file exists $path]} { die "$name does not exist" }
    set channel [open $path r]
    set text [read $channel]
    close $channel
    return $text
  }

  # Sources of rtl/tpt.f in order of compilation, as absolute paths.
  proc sources {} {
    variable root
    set found {}
    foreach line [split [text_of rtl/tpt.f] "\n"] {
      regsub {(//|#).*} $line {} line
      set line [string trim $line]
      if {$line eq "" || [string match "+incdir+*" $line]} continue
      set path [file join $root $line]
      if {![file exists $path]} { die "rtl/tpt.f names $line, which does not exist" }
      lappend found $path
    }
    return $found
  }

  # Parameters of a configuration of rtl/configs.toml: a list of NAME VALUE NAME VALUE ...
  proc config {name} {
    set here ""
    set names {}
    set found {}
    foreach line [split [text_of rtl/configs.toml] "\n"] {
      regsub {#.*} $line {} line
      if {[regexp {^\s*\[(\w+)\]\s*$} $line -> here]} {
        lappend names $here
      } elseif {[regexp {^\s*(\w+)\s*=\s*(\d+)\s*$} $line -> key value]} {
        if {$here eq $name} { lappend found $key $value }
      } elseif {[string trim $line] ne ""} {
        die "rtl/configs.toml: cannot read the line: $line"
      }
    }
    if {$name ni $names} {
      die "rtl/configs.toml has no configuration $name; it has [join $names {, }]"
    }
    return $found
  }

  # Options of the command line over their defaults: an array's contents.
  proc options {defaults} {
    global argv
    array set option $defaults
    foreach {key value} $argv {
      if {![info exists option($key)]} {
        die "unknown option $key; there are [join [lsort [array names option]] {, }]"
      }
      if {$value eq ""} { die "the option $key needs a value" }
      set option($key) $value
    }
    return [array get option]
  }
}

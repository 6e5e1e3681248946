// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Flat-port wrapper of tpt_mpt_check for its own bench: packed vectors only.
///
/// Latency 4 clocks, one request per clock.
///
/// Bit offsets (least significant bit : width), from the packed structs of tpt_pkg:
///
///   req_i     qpn 0:24  pd 24:24  len 48:32  va 80:64  key 144:32  op 176:3  stream 179:6
///             tag 185:10                                                        (195 bits)
///   entry_i   the 64 bytes of the MPT entry, byte 0 in bits 7:0                 (512 bits)
///   desc_o    frame[0..3] 0:52 each  write 208:1  encoding 209:2  log_tpage 211:3
///             log_page 214:6  level 220:3  gen 223:8  index 231:23  relaxed 254:1
///             ondemand 255:1  tag 256:10                                        (266 bits)
///   pos_o     rem 0:32  off 32:43  np 75:20  idx 95:40                          (135 bits)
module tb_mpt_check import tpt_pkg::*; #(
  /// Width of the data that travels along.
  parameter int unsigned PayW = 32
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              valid_i,
  input  logic [PayW-1:0]   pay_i,
  input  logic [ReqW-1:0]   req_i,
  input  logic              disabled_i,
  input  logic              tag_busy_i,
  input  logic              role_i,
  input  logic [IndexW-1:0] index_i,
  input  logic              index_ok_i,
  input  logic              looked_up_i,
  input  logic [MptW-1:0]   entry_i,
  input  logic              bus_err_i,
  input  logic              mpt_bad_i,
  input  logic              parent_i,

  output logic              valid_o,
  output logic [PayW-1:0]   pay_o,
  output logic [4:0]        syndrome_o,
  output logic              empty_o,
  output logic              again_o,
  output logic [17:0]       mask_o,
  output logic [265:0]      desc_o,
  output logic [134:0]      pos_o,
  /// The same clock as req_i: rules 0 and 1 let the request pass to the key.
  output logic              needs_lookup_o
);

  if ((ReqW != 195) || ($bits(desc_t) != 266) || ($bits(pos_t) != 135)) begin : g_bad_widths
    $fatal(1, "tb_mpt_check: the package's structs are not those of the table above");
  end

  desc_t desc;
  pos_t  pos;

  tpt_mpt_check #(
    .PayW (PayW)
  ) u_check (
    .clk_i,
    .rst_ni,
    .valid_i,
    .pay_i,
    .req_i       (req_t'(req_i)),
    .disabled_i,
    .tag_busy_i,
    .role_i,
    .index_i,
    .index_ok_i,
    .looked_up_i,
    .entry_i     (mpt_entry_t'(entry_i)),
    .bus_err_i,
    .mpt_bad_i,
    .parent_i,
    .valid_o,
    .pay_o,
    .syndrome_o,
    .empty_o,
    .again_o,
    .mask_o,
    .desc_o      (desc),
    .pos_o       (pos)
  );

  assign desc_o         = desc;
  assign pos_o          = pos;
  assign needs_lookup_o = req_needs_lookup(req_t'(req_i));

endmodule

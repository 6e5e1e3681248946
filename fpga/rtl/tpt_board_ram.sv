// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// On-chip memory of a board: an AXI4 subordinate for the unit, and a port for the link.
///
/// One burst at a time, in the order of acceptance, reads and writes in turn; three clocks for each
/// beat that is read, one for each that is written. The link's port is served between bursts, so a
/// read of 64 bytes is never a mix of two states. Bursts must be incrementing and of the full
/// width. Whatever else, or not wholly inside the memory, is answered with SLVERR and changes
/// nothing. One line can be poisoned: reads that touch it are answered with SLVERR.
/// Contents are not reset.
module tpt_board_ram #(
  /// First address, a multiple of `Bytes`.
  parameter logic [63:0] Base  = 64'h0000_0100_0000_0000,
  /// Size, a power of two, at least 8 KiB.
  parameter int unsigned Bytes = 131_072,
  /// Data width in bits, a power of two, at least 32.
  parameter int unsigned DataW = 128,
  /// ID width in bits.
  parameter int unsigned IdW   = 8,
  localparam int unsigned StrbW  = DataW / 8,
  localparam int unsigned ByteW  = $clog2(StrbW),
  localparam int unsigned Lines  = Bytes / StrbW,
  localparam int unsigned LineW  = $clog2(Lines)
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  // Link: stable from valid to ready; the data of a read come with ready
  input  logic             link_valid_i,
  output logic             link_ready_o,
  input  logic [LineW-1:0] link_line_i,
  input  logic [StrbW-1:0] link_strb_i,    // 0: a read
  input  logic [DataW-1:0] link_wdata_i,
  output logic [DataW-1:0] link_rdata_o,
  /// Poisoned line.
  input  logic             poison_i,
  input  logic [LineW-1:0] poison_line_i,
  /// A burst is answered with an error, for one clock.
  output logic             error_o,

  // AXI4
  input  logic [IdW-1:0]   s_axi_awid_i,
  input  logic [63:0]      s_axi_awaddr_i,
  input  logic [7:0]       s_axi_awlen_i,
  input  logic [2:0]       s_axi_awsize_i,
  input  logic [1:0]       s_axi_awburst_i,
  input  logic             s_axi_awvalid_i,
  output logic             s_axi_awready_o,
  input  logic [DataW-1:0] s_axi_wdata_i,
  input  logic [StrbW-1:0] s_axi_wstrb_i,
  input  logic             s_axi_wlast_i,
  input  logic             s_axi_wvalid_i,
  output logic             s_axi_wready_o,
  output logic [IdW-1:0]   s_axi_bid_o,
  output logic [1:0]       s_axi_bresp_o,
  output logic             s_axi_bvalid_o,
  input  logic             s_axi_bready_i,
  input  logic [IdW-1:0]   s_axi_arid_i,
  input  logic [63:0]      s_axi_araddr_i,
  input  logic [7:0]       s_axi_arlen_i,
  input  logic [2:0]       s_axi_arsize_i,
  input  logic [1:0]       s_axi_arburst_i,
  input  logic             s_axi_arvalid_i,
  output logic             s_axi_arready_o,
  output logic [IdW-1:0]   s_axi_rid_o,
  output logic [DataW-1:0] s_axi_rdata_o,
  output logic [1:0]       s_axi_rresp_o,
  output logic             s_axi_rlast_o,
  output logic             s_axi_rvalid_o,
  input  logic             s_axi_rready_i
);

  localparam int unsigned SizeW = $clog2(Bytes);
  if (Bytes < 8192 || (Bytes & (Bytes - 1)) != 0) begin : g_bad_bytes
    $fatal(1, "tpt_board_ram: Bytes must be a power of two, at least 8192");
  end
  if (DataW < 32 || (DataW & (DataW - 1)) != 0) begin : g_bad_data_w
    $fatal(1, "tpt_board_ram: DataW must be a power of two, at least 32");
  end
  if (Base[SizeW-1:0] != '0) begin : g_bad_base
    $fatal(1, "tpt_board_ram: Base must be a multiple of Bytes");
  end

  localparam logic [1:0] Okay   = 2'b00;
  localparam logic [1:0] Slverr = 2'b10;

  typedef enum logic [2:0] {
    StIdle,    // choose
    StCheck,   // is the burst one that can be done?
    StRead,    // the address is at the memory
    StWait,    // the word is on its way
    StBeat,    // the word waits to be taken
    StWrite,   // words of a write
    StAnswer   // the answer to a write waits to be taken
  } state_e;
  state_e           state_q;
  logic             link_q;      // the read is the link's
  logic             write_q;     // the burst, or the last one, is a write
  logic [IdW-1:0]   id_q;
  logic [63:0]      addr_q;
  logic [7:0]       len_q;       // beats after this one
  logic             shape_q;     // incrementing and of full width
  logic             inside_q;
  logic             last_q;
  logic [LineW-1:0] line_q;
  logic             take_read, take_write;

  // Reads and writes take turns; the link goes first, it is slow.
  assign take_read       = state_q == StIdle && !link_valid_i && s_axi_arvalid_i &&
                           (write_q || !s_axi_awvalid_i);
  assign take_write      = state_q == StIdle && !link_valid_i && s_axi_awvalid_i && !take_read;
  assign s_axi_arready_o = take_read;
  assign s_axi_awready_o = take_write;

  // One line is left over for the carry: a burst that passes the end is not inside.
  logic [LineW:0] end_line;
  assign end_line = {1'b0, addr_q[SizeW-1:ByteW]} + (LineW + 1)'(len_q);

  logic [DataW-1:0] rdata;
  logic             link_write, link_done;
  assign link_write   = state_q == StIdle && link_valid_i && (|link_strb_i);
  assign link_done    = state_q == StBeat && link_q;
  assign link_ready_o = link_write || link_done;
  assign link_rdata_o = rdata;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      link_q  <= 1'b0;
      write_q <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle: begin
          if (link_valid_i) begin
            if (!link_write) begin
              link_q  <= 1'b1;
              state_q <= StRead;
            end
          end else if (take_read || take_write) begin
            link_q  <= 1'b0;
            write_q <= take_write;
            state_q <= StCheck;
          end
        end
        StCheck:  state_q <= write_q ? StWrite : StRead;
        StRead:   state_q <= StWait;
        StWait:   state_q <= StBeat;
        StBeat:   if (link_q || (s_axi_rready_i && last_q)) state_q <= StIdle;
                  else if (s_axi_rready_i) state_q <= StRead;
        StWrite:  if (s_axi_wvalid_i && s_axi_wlast_i) state_q <= StAnswer;
        default:  if (s_axi_bready_i) state_q <= StIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      id_q    <= take_read ? s_axi_arid_i : s_axi_awid_i;
      addr_q  <= take_read ? s_axi_araddr_i : s_axi_awaddr_i;
      len_q   <= take_read ? s_axi_arlen_i : s_axi_awlen_i;
      shape_q <= take_read ? (s_axi_arburst_i == 2'b01 && s_axi_arsize_i == 3'(ByteW))
                           : (s_axi_awburst_i == 2'b01 && s_axi_awsize_i == 3'(ByteW));
      line_q  <= link_line_i;
    end else if (state_q == StCheck) begin
      inside_q <= shape_q && addr_q[63:SizeW] == Base[63:SizeW] && !end_line[LineW] &&
                  addr_q[ByteW-1:0] == '0;
      line_q   <= addr_q[SizeW-1:ByteW];
    end else if ((s_axi_rvalid_o && s_axi_rready_i) ||
                 (state_q == StWrite && s_axi_wvalid_i)) begin
      line_q   <= line_q + 1'b1;
      len_q    <= len_q - 8'd1;
    end
    last_q <= len_q == 8'd0;
  end

  // ---------------------------------------------------------------------------------------------
  // Memory: a block for each byte of a line, so that bytes can be written
  // ---------------------------------------------------------------------------------------------
  logic [StrbW-1:0] we;
  logic [LineW-1:0] wline;
  logic [DataW-1:0] wdata;
  always_comb begin
    we    = '0;
    wline = line_q;
    wdata = s_axi_wdata_i;
    if (state_q == StIdle) begin
      wline = link_line_i;
      wdata = link_wdata_i;
      if (link_valid_i) we = link_strb_i;
    end else if (state_q == StWrite && s_axi_wvalid_i && inside_q) begin
      we = s_axi_wstrb_i;
    end
  end
  for (genvar b = 0; b < StrbW; b++) begin : g_byte
    tpt_ram_1r1w #(.Width(8), .Depth(Lines), .OutReg(1'b1)) u_ram (
      .clk_i,
      .we_i   (we[b]),
      .waddr_i(wline),
      .wdata_i(wdata[8*b +: 8]),
      .raddr_i(line_q),
      .rdata_o(rdata[8*b +: 8])
    );
  end

  // ---------------------------------------------------------------------------------------------
  // Answers
  // ---------------------------------------------------------------------------------------------
  logic poisoned_q;
  always_ff @(posedge clk_i) poisoned_q <= poison_i && line_q == poison_line_i;

  assign s_axi_rvalid_o = state_q == StBeat && !link_q;
  assign s_axi_rid_o    = id_q;
  assign s_axi_rdata_o  = rdata;
  assign s_axi_rlast_o  = last_q;
  assign s_axi_rresp_o  = (inside_q && !poisoned_q) ? Okay : Slverr;
  assign s_axi_wready_o = state_q == StWrite;
  assign s_axi_bvalid_o = state_q == StAnswer;
  assign s_axi_bid_o    = id_q;
  assign s_axi_bresp_o  = inside_q ? Okay : Slverr;
  assign error_o        = (s_axi_rvalid_o && s_axi_rready_i && s_axi_rresp_o != Okay) ||
                          (s_axi_bvalid_o && s_axi_bready_i && s_axi_bresp_o != Okay);

  `TPT_ASSERT(OneChannel_A, !(s_axi_rvalid_o && s_axi_bvalid_o))
  `TPT_ASSERT(LastIsLast_A, !(state_q == StWrite && s_axi_wvalid_i) ||
                           s_axi_wlast_i == (len_q == 8'd0))

endmodule

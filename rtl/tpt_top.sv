// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Flat-port wrapper of the unit, for block designs, VHDL and Verilator.
///
/// The payloads of the stream channels are the packed structs of `tpt_pkg` (`req_t`, `rsp_t`,
/// `done_t`, `cmd_t`, `cpl_t`), bit 0 of the struct in bit 0 of `tdata`. The request, response and
/// done channels exist once per client: client c is at bit c of valid and ready and at
/// `[c * width +: width]` of the data.
module tpt_top
  import tpt_pkg::*;
  import tpt_csr_pkg::*;
#(
  /// See tpt_core. Named configurations are in configs.toml.
  parameter int unsigned NumClients  = 2,
  parameter int unsigned NumStreams  = 16,
  parameter int unsigned NumContexts = 16,
  parameter int unsigned MptSets     = 32,
  parameter int unsigned MptWays     = 2,
  parameter int unsigned MttSets     = 32,
  parameter int unsigned MttWays     = 4,
  parameter int unsigned DirSets     = 32,
  parameter int unsigned AxiDataW    = 128,
  parameter int unsigned MaxLevels   = 3,
  parameter int unsigned Lanes       = 1,
  parameter int unsigned MergeSegs   = 1,
  parameter int unsigned CmdQueue    = 1,
  parameter int unsigned MttChecked  = 1,
  parameter int unsigned FaultSlots  = 4,
  localparam int unsigned AxiIdW     = $clog2(NumContexts) + $clog2(Lanes) + 4
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  // Registers: AXI4-Lite subordinate
  input  logic [CsrAddrW-1:0]         s_axil_awaddr,
  input  logic                        s_axil_awvalid,
  output logic                        s_axil_awready,
  input  logic [31:0]                 s_axil_wdata,
  input  logic [3:0]                  s_axil_wstrb,
  input  logic                        s_axil_wvalid,
  output logic                        s_axil_wready,
  output logic [1:0]                  s_axil_bresp,
  output logic                        s_axil_bvalid,
  input  logic                        s_axil_bready,
  input  logic [CsrAddrW-1:0]         s_axil_araddr,
  input  logic                        s_axil_arvalid,
  output logic                        s_axil_arready,
  output logic [31:0]                 s_axil_rdata,
  output logic [1:0]                  s_axil_rresp,
  output logic                        s_axil_rvalid,
  input  logic                        s_axil_rready,

  // Interrupt: a level
  output logic                        irq_o,

  // Memory: AXI4 manager
  output logic [AxiIdW-1:0]           m_axi_awid,
  output logic [63:0]                 m_axi_awaddr,
  output logic [7:0]                  m_axi_awlen,
  output logic [2:0]                  m_axi_awsize,
  output logic [1:0]                  m_axi_awburst,
  output logic                        m_axi_awvalid,
  input  logic                        m_axi_awready,
  output logic [AxiDataW-1:0]         m_axi_wdata,
  output logic [AxiDataW/8-1:0]       m_axi_wstrb,
  output logic                        m_axi_wlast,
  output logic                        m_axi_wvalid,
  input  logic                        m_axi_wready,
  input  logic [AxiIdW-1:0]           m_axi_bid,
  input  logic [1:0]                  m_axi_bresp,
  input  logic                        m_axi_bvalid,
  output logic                        m_axi_bready,
  output logic [AxiIdW-1:0]           m_axi_arid,
  output logic [63:0]                 m_axi_araddr,
  output logic [7:0]                  m_axi_arlen,
  output logic [2:0]                  m_axi_arsize,
  output logic [1:0]                  m_axi_arburst,
  output logic                        m_axi_arvalid,
  input  logic                        m_axi_arready,
  input  logic [AxiIdW-1:0]           m_axi_rid,
  input  logic [AxiDataW-1:0]         m_axi_rdata,
  input  logic [1:0]                  m_axi_rresp,
  input  logic                        m_axi_rlast,
  input  logic                        m_axi_rvalid,
  output logic                        m_axi_rready,

  // Clients
  input  logic [NumClients-1:0]       s_axis_req_tvalid,
  output logic [NumClients-1:0]       s_axis_req_tready,
  input  logic [NumClients*ReqW-1:0]  s_axis_req_tdata,
  output logic [NumClients-1:0]       m_axis_rsp_tvalid,
  input  logic [NumClients-1:0]       m_axis_rsp_tready,
  output logic [NumClients*RspW-1:0]  m_axis_rsp_tdata,
  input  logic [NumClients-1:0]       s_axis_done_tvalid,
  output logic [NumClients-1:0]       s_axis_done_tready,
  input  logic [NumClients*DoneW-1:0] s_axis_done_tdata,

  // Commands
  input  logic                        s_axis_cmd_tvalid,
  output logic                        s_axis_cmd_tready,
  input  logic [CmdW-1:0]             s_axis_cmd_tdata,
  output logic                        m_axis_cpl_tvalid,
  input  logic                        m_axis_cpl_tready,
  output logic [CplW-1:0]             m_axis_cpl_tdata
);

  tpt_core #(
    .NumClients(NumClients), .NumStreams(NumStreams), .NumContexts(NumContexts),
    .MptSets(MptSets), .MptWays(MptWays), .MttSets(MttSets), .MttWays(MttWays),
    .DirSets(DirSets), .AxiDataW(AxiDataW), .MaxLevels(MaxLevels),
    .Lanes(Lanes), .MergeSegs(MergeSegs), .CmdQueue(CmdQueue), .MttChecked(MttChecked),
    .FaultSlots(FaultSlots)
  ) u_core (
    .clk_i,
    .rst_ni,
    .req_valid_i      (s_axis_req_tvalid),
    .req_ready_o      (s_axis_req_tready),
    .req_i            (s_axis_req_tdata),
    .rsp_valid_o      (m_axis_rsp_tvalid),
    .rsp_ready_i      (m_axis_rsp_tready),
    .rsp_o            (m_axis_rsp_tdata),
    .done_valid_i     (s_axis_done_tvalid),
    .done_ready_o     (s_axis_done_tready),
    .done_i           (s_axis_done_tdata),
    .cmd_valid_i      (s_axis_cmd_tvalid),
    .cmd_ready_o      (s_axis_cmd_tready),
    .cmd_i            (s_axis_cmd_tdata),
    .cpl_valid_o      (m_axis_cpl_tvalid),
    .cpl_ready_i      (m_axis_cpl_tready),
    .cpl_o            (m_axis_cpl_tdata),
    .s_axil_awaddr_i  (s_axil_awaddr),
    .s_axil_awvalid_i (s_axil_awvalid),
    .s_axil_awready_o (s_axil_awready),
    .s_axil_wdata_i   (s_axil_wdata),
    .s_axil_wstrb_i   (s_axil_wstrb),
    .s_axil_wvalid_i  (s_axil_wvalid),
    .s_axil_wready_o  (s_axil_wready),
    .s_axil_bresp_o   (s_axil_bresp),
    .s_axil_bvalid_o  (s_axil_bvalid),
    .s_axil_bready_i  (s_axil_bready),
    .s_axil_araddr_i  (s_axil_araddr),
    .s_axil_arvalid_i (s_axil_arvalid),
    .s_axil_arready_o (s_axil_arready),
    .s_axil_rdata_o   (s_axil_rdata),
    .s_axil_rresp_o   (s_axil_rresp),
    .s_axil_rvalid_o  (s_axil_rvalid),
    .s_axil_rready_i  (s_axil_rready),
    .irq_o,
    .m_axi_awid_o     (m_axi_awid),
    .m_axi_awaddr_o   (m_axi_awaddr),
    .m_axi_awlen_o    (m_axi_awlen),
    .m_axi_awsize_o   (m_axi_awsize),
    .m_axi_awburst_o  (m_axi_awburst),
    .m_axi_awvalid_o  (m_axi_awvalid),
    .m_axi_awready_i  (m_axi_awready),
    .m_axi_wdata_o    (m_axi_wdata),
    .m_axi_wstrb_o    (m_axi_wstrb),
    .m_axi_wlast_o    (m_axi_wlast),
    .m_axi_wvalid_o   (m_axi_wvalid),
    .m_axi_wready_i   (m_axi_wready),
    .m_axi_bid_i      (m_axi_bid),
    .m_axi_bresp_i    (m_axi_bresp),
    .m_axi_bvalid_i   (m_axi_bvalid),
    .m_axi_bready_o   (m_axi_bready),
    .m_axi_arid_o     (m_axi_arid),
    .m_axi_araddr_o   (m_axi_araddr),
    .m_axi_arlen_o    (m_axi_arlen),
    .m_axi_arsize_o   (m_axi_arsize),
    .m_axi_arburst_o  (m_axi_arburst),
    .m_axi_arvalid_o  (m_axi_arvalid),
    .m_axi_arready_i  (m_axi_arready),
    .m_axi_rid_i      (m_axi_rid),
    .m_axi_rdata_i    (m_axi_rdata),
    .m_axi_rresp_i    (m_axi_rresp),
    .m_axi_rlast_i    (m_axi_rlast),
    .m_axi_rvalid_i   (m_axi_rvalid),
    .m_axi_rready_o   (m_axi_rready)
  );

endmodule

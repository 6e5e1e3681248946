// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Does what the frames of the link say: memory, registers, requests, responses, done, reset.
///
/// A frame is done once. Its sequence number must be the one behind that of the frame before, or
/// the frame begins with LinkHello, which starts a new session with any number. A frame with the
/// number of the frame before is not done again: the reply, which is still in its buffer, is sent
/// again. Any other number is answered LinkSequence, and nothing is done until the next LinkHello.
///
/// Every wait for the unit is bounded by `Patience` clocks.
module tpt_link_exec
  import tpt_pkg::*;
  import tpt_csr_pkg::*;
  import tpt_link_pkg::*;
#(
  /// Clients of the unit.
  parameter int unsigned NumClients = 2,
  /// Bytes of the memory, a power of two up to 16 MiB.
  parameter int unsigned RamBytes   = 131_072,
  /// What the board is, apart from version and magic.
  parameter link_ident_t Ident      = '0,
  /// Clocks that the unit has to answer, a power of two.
  parameter int unsigned Patience   = 1024,
  localparam int unsigned RxW   = $clog2(LinkMaxFrame + LinkCrcBytes + 1),
  localparam int unsigned TxW   = $clog2(LinkMaxFrame + 1),
  localparam int unsigned LineW = $clog2(RamBytes / LinkLine)
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  // A frame in the receiver's buffer
  input  logic                     frame_i,
  output logic                     release_o,
  input  logic [RxW-1:0]           frame_len_i,
  output logic [RxW-1:0]           frame_addr_o,
  input  logic [7:0]               frame_data_i,
  /// Frames dropped by the receiver, one clock each.
  input  logic                     bad_i,
  input  logic                     late_i,

  // The reply: sent on `send_o`
  output logic                     send_o,
  output logic [TxW-1:0]           send_len_o,
  input  logic                     send_busy_i,
  input  logic [TxW-1:0]           send_addr_i,
  output logic [7:0]               send_data_o,

  // Memory
  output logic                     mem_valid_o,
  input  logic                     mem_ready_i,
  output logic [LineW-1:0]         mem_line_o,
  output logic [LinkLine-1:0]      mem_strb_o,
  output logic [LinkLine*8-1:0]    mem_wdata_o,
  input  logic [LinkLine*8-1:0]    mem_rdata_i,
  output logic                     poison_o,
  output logic [LineW-1:0]         poison_line_o,
  input  logic                     mem_error_i,

  // Registers of the unit: AXI4-Lite
  output logic [CsrAddrW-1:0]      csr_addr_o,
  output logic [31:0]              csr_wdata_o,
  output logic                     csr_awvalid_o,
  input  logic                     csr_awready_i,
  output logic                     csr_wvalid_o,
  input  logic                     csr_wready_i,
  input  logic [1:0]               csr_bresp_i,
  input  logic                     csr_bvalid_i,
  output logic                     csr_bready_o,
  output logic                     csr_arvalid_o,
  input  logic                     csr_arready_i,
  input  logic [31:0]              csr_rdata_i,
  input  logic [1:0]               csr_rresp_i,
  input  logic                     csr_rvalid_i,
  output logic                     csr_rready_o,

  // Clients of the unit
  /// Ready must be there, or come, without valid: an offer is withdrawn when time is over.
  output logic [NumClients-1:0]    req_valid_o,
  input  logic [NumClients-1:0]    req_ready_i,
  output req_t                     req_o,
  input  logic [NumClients-1:0]    rsp_valid_i,
  output logic [NumClients-1:0]    rsp_ready_o,
  input  rsp_t [NumClients-1:0]    rsp_i,
  output logic [NumClients-1:0]    done_valid_o,
  input  logic [NumClients-1:0]    done_ready_i,
  output done_t                    done_o,

  /// Reset of the unit.
  output logic                     unit_rst_no,
  input  logic                     irq_i,

  // For lamps
  output logic                     good_o,     // a frame was done, one clock
  output logic                     enabled_o,  // CTRL.enable as it was written last
  output logic                     trouble_o   // something was dropped since the last LinkHello
);

  localparam int unsigned OffW    = $clog2(RamBytes);
  localparam int unsigned ByteW   = $clog2(LinkLine);
  localparam int unsigned TimerW  = $clog2(Patience);
  localparam int unsigned MaxArgs = LinkReqBytes + 1;
  if (RamBytes < 8192 || RamBytes > 2 ** 24 || (RamBytes & (RamBytes - 1)) != 0) begin : g_bad_ram
    $fatal(1, "tpt_link_exec: RamBytes must be a power of two, 8 KiB to 16 MiB");
  end
  if (Patience < 64 || (Patience & (Patience - 1)) != 0) begin : g_bad_patience
    $fatal(1, "tpt_link_exec: Patience must be a power of two, at least 64");
  end
  if ($bits(link_ident_t) != 8 * LinkIdentBytes || $bits(rsp_t) > 8 * LinkRspBytes ||
      $bits(req_t) > 8 * LinkReqBytes) begin : g_bad_widths
    $fatal(1, "tpt_link_exec: the payloads do not fit into the bytes of tpt_link_pkg");
  end

  typedef enum logic [4:0] {
    StIdle,      // no frame
    StFirst,     // the sequence number is being read
    StJudge,     // the sequence number and the first operation are known
    StOp,        // the next operation is being read
    StOpByte,    // it is there
    StArgs,      // operands are being read
    StCheck,     // may it be done?
    StDo,        // begin it
    StPush,      // bytes of the answer
    StReadMem, StReadWait,
    StWriteMem, StWriteByte, StWriteWait,
    StFill,
    StCsrRead, StCsrWrite,
    StRequest,
    StBeat,
    StDone,
    StReset,
    StIdent,
    StSend,      // the reply is sent
    StSending
  } state_e;
  state_e                state_q, after_q;   // after_q: behind StPush
  logic [RxW-1:0]        ptr_q;              // byte of the frame that is at the buffer
  logic [7:0]            seq_q;              // of the last frame that was done
  logic [7:0]            new_seq_q;
  logic                  synced_q;           // there is such a frame
  logic [7:0]            op_q;
  logic [4:0]            args_left_q;
  logic [8*MaxArgs-1:0]  args_q;             // operands, the last byte on top
  logic [TxW-1:0]        reply_q;            // bytes of the reply
  logic [127:0]          out_q;              // bytes of the answer, the lowest first
  logic [4:0]            out_left_q;
  logic [TimerW-1:0]     timer_q;
  logic [OffW-1:0]       off_q;              // place in the memory
  logic [15:0]           count_q;            // what is left to do
  logic [7:0]            byte_q;

  logic no_time, more;
  assign no_time = &timer_q;
  assign more    = ptr_q < frame_len_i;

  // Operands, by their place from the end
  function automatic logic [7:0] arg(logic [8*MaxArgs-1:0] args, int unsigned from_end);
    logic unused_args;
    unused_args = ^args;
    return args[8*(MaxArgs-1-from_end) +: 8];
  endfunction
  logic [23:0] arg_off4, arg_off6;  // of four operands: {off 3, n 1}, {on 1, off 3}; of six
  logic [7:0]  arg_client;
  assign arg_off4 = (op_q == LinkPoison) ? {arg(args_q, 0), arg(args_q, 1), arg(args_q, 2)}
                                         : {arg(args_q, 1), arg(args_q, 2), arg(args_q, 3)};
  assign arg_off6 = {arg(args_q, 3), arg(args_q, 4), arg(args_q, 5)};
  assign arg_client = (op_q == LinkRequest)   ? arg(args_q, LinkReqBytes) :
                      (op_q == LinkResponses) ? arg(args_q, 1) : arg(args_q, 2);

  logic [8:0] mem_bytes;
  assign mem_bytes = (arg(args_q, 0) == 8'd0) ? 9'd256 : {1'b0, arg(args_q, 0)};

  // What stands against the operation, known a clock ahead
  logic [7:0]     refuse, refuse_q;
  logic [TxW-1:0] need;    // bytes of the answer, at most
  always_comb begin
    refuse = LinkOk;
    need   = TxW'(1) + TxW'(link_answer(op_q));
    if (op_q == LinkReadMem) need = need + TxW'(mem_bytes);
    if (op_q == LinkResponses) need = need + TxW'(arg(args_q, 0)) * TxW'(LinkRspBytes + 1);
    unique case (op_q)
      LinkReadMem, LinkWriteMem:
        if ((25'(arg_off4) + 25'(mem_bytes)) > 25'(RamBytes)) refuse = LinkRange;
      LinkFill:
        if ((25'(arg_off6) + {5'd0, arg(args_q, 1), arg(args_q, 2), 4'd0}) > 25'(RamBytes) ||
            arg_off6[ByteW-1:0] != '0) refuse = LinkRange;
      LinkPoison:
        if (25'(arg_off4) >= 25'(RamBytes)) refuse = LinkRange;
      LinkRequest, LinkDone:
        if (32'(arg_client) >= NumClients) refuse = LinkRange;
      LinkResponses:
        if (32'(arg_client) >= NumClients || arg(args_q, 0) > 8'd32) refuse = LinkRange;
      LinkReadCsr:
        if ({arg(args_q, 0), arg(args_q, 1)} >= 16'(2 ** CsrAddrW)) refuse = LinkRange;
      LinkWriteCsr:
        if ({arg(args_q, 4), arg(args_q, 5)} >= 16'(2 ** CsrAddrW)) refuse = LinkRange;
      LinkHello, LinkReset, LinkStatus: ;
      default: refuse = LinkBadOp;
    endcase
    if (refuse == LinkOk && (32'(reply_q) + 32'(need)) > LinkMaxFrame) refuse = LinkRoom;
  end

  // ---------------------------------------------------------------------------------------------
  // Counters, since the last LinkHello; they stop at their largest value
  // ---------------------------------------------------------------------------------------------
  logic        good, repeated, strange, hello, ram_err_q, enabled_q;
  logic [LinkCounters-1:0]       count_event;
  logic [LinkCounters-1:0][15:0] counter_q;
  assign count_event = {strange, repeated, late_i, bad_i, good};
  always_ff @(posedge clk_i) begin
    for (int unsigned n = 0; n < LinkCounters; n++) begin
      if (!rst_ni || hello) counter_q[n] <= '0;
      else if (count_event[n] && !(&counter_q[n])) counter_q[n] <= counter_q[n] + 16'd1;
    end
    if (!rst_ni || hello) begin
      ram_err_q <= 1'b0;
      trouble_o <= 1'b0;
    end else begin
      if (mem_error_i) ram_err_q <= 1'b1;
      if (bad_i || late_i || strange) trouble_o <= 1'b1;
    end
  end
  logic [7:0] flags;
  always_comb begin
    flags                  = '0;
    flags[LinkFlagIrq]     = irq_i;
    flags[LinkFlagEnabled] = enabled_q;
    flags[LinkFlagRamErr]  = ram_err_q;
  end

  // ---------------------------------------------------------------------------------------------
  // Control
  // ---------------------------------------------------------------------------------------------
  logic [1:0]            client_q;
  logic [NumClients-1:0] client_hot;
  for (genvar c = 0; c < NumClients; c++) begin : g_client
    assign client_hot[c] = 32'(client_q) == c;
  end
  // The unit must not see a clock without its reset, so this has a value from the start.
  logic       unit_rst_nq;
  initial unit_rst_nq = 1'b0;
  logic       aw_left_q, w_left_q;  // address, data of a register write still to be taken
  rsp_t       beat;
  always_comb begin
    beat = rsp_i[0];
    for (int unsigned c = 1; c < NumClients; c++) if (client_hot[c]) beat = rsp_i[c];
  end

  link_ident_t ident;
  always_comb begin
    ident         = Ident;
    ident.magic   = LinkMagic;
    ident.version = LinkVersion;
  end
  logic [4:0] ident_q;

  logic first_hello, in_order;
  assign first_hello = frame_data_i == LinkHello && frame_len_i > RxW'(1);
  assign in_order    = synced_q && new_seq_q == 8'(seq_q + 8'd1);
  assign good      = state_q == StSend;
  assign hello     = state_q == StDo && op_q == LinkHello && refuse_q == LinkOk;
  assign repeated  = state_q == StJudge && synced_q && new_seq_q == seq_q && !first_hello;
  assign strange   = state_q == StJudge && !first_hello && !repeated && !in_order;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= StIdle;
      after_q     <= StIdle;
      ptr_q       <= '0;
      seq_q       <= '0;
      synced_q    <= 1'b0;
      reply_q     <= '0;
      out_left_q  <= '0;
      timer_q     <= '0;
      poison_o    <= 1'b0;
      enabled_q   <= 1'b0;
      unit_rst_nq <= 1'b0;
      aw_left_q   <= 1'b0;
      w_left_q    <= 1'b0;
    end else begin
      unit_rst_nq <= state_q != StReset;
      timer_q     <= timer_q + 1'b1;
      unique case (state_q)
        StIdle: begin
          ptr_q <= '0;
          if (frame_i) state_q <= StFirst;
        end
        // The buffer answers one clock after the address, so bytes are read ahead.
        StFirst: begin
          ptr_q <= RxW'(1);
          if (ptr_q == RxW'(1)) state_q <= StJudge;
        end
        StJudge: begin
          ptr_q <= RxW'(1);
          if (repeated) begin
            state_q <= StSend;
          end else begin
            reply_q <= TxW'(1);
            if (strange) begin
              synced_q   <= 1'b0;
              out_left_q <= 5'd1;
              after_q    <= StSend;
              state_q    <= StPush;
            end else begin
              seq_q    <= new_seq_q;
              synced_q <= 1'b1;
              state_q  <= StOp;
            end
          end
        end
        StOp: state_q <= more ? StOpByte : StSend;
        StOpByte: begin
          ptr_q       <= ptr_q + 1'b1;
          args_left_q <= link_operands(frame_data_i);
          timer_q     <= '0;
          state_q     <= StArgs;
        end
        StArgs: begin
          // One clock for the address, one for the byte.
          timer_q <= '0;
          if (args_left_q == 5'd0) begin
            state_q <= StCheck;
          end else if (!more) begin
            out_left_q <= 5'd1;
            after_q    <= StSend;
            state_q    <= StPush;
          end else if (timer_q[0]) begin
            ptr_q       <= ptr_q + 1'b1;
            args_left_q <= args_left_q - 5'd1;
          end else begin
            timer_q <= TimerW'(1);
          end
        end
        StCheck: state_q <= StDo;
        StDo: begin
          timer_q    <= '0;
          out_left_q <= 5'd1;
          state_q    <= StPush;
          after_q    <= StOp;
          if (refuse_q != LinkOk) begin
            after_q <= StSend;
          end else begin
            unique case (op_q)
              LinkHello: begin
                out_left_q <= 5'd5;
                after_q    <= StIdent;
              end
              LinkReadMem:   after_q <= StReadMem;
              LinkWriteMem:  state_q <= StWriteMem;
              LinkFill:      state_q <= StFill;
              LinkReadCsr:   state_q <= StCsrRead;
              LinkWriteCsr:  state_q <= StCsrWrite;
              LinkRequest:   state_q <= StRequest;
              LinkResponses: after_q <= StBeat;
              LinkDone:      state_q <= StDone;
              LinkReset:     state_q <= StReset;
              LinkStatus:    out_left_q <= 5'd1 + link_answer(LinkStatus);
              default:       poison_o <= arg(args_q, 3)[0];
            endcase
          end
          aw_left_q <= op_q == LinkWriteCsr || op_q == LinkReadCsr;
          w_left_q  <= op_q == LinkWriteCsr;
        end
        StPush: begin
          timer_q    <= '0;
          reply_q    <= reply_q + 1'b1;
          out_left_q <= out_left_q - 5'd1;
          if (out_left_q == 5'd1) state_q <= after_q;
        end
        StReadMem: begin
          // At the memory until it is ready
          if (mem_ready_i) state_q <= StReadWait;
        end
        StReadWait: begin
          out_left_q <= 5'd1;
          state_q    <= StPush;
          after_q    <= (count_q == 16'd1) ? StOp : StReadMem;
        end
        StWriteMem: begin
          if (!more) begin
            out_left_q <= 5'd1;
            after_q    <= StSend;
            state_q    <= StPush;
          end else begin
            state_q <= StWriteByte;
          end
        end
        StWriteByte: begin
          ptr_q   <= ptr_q + 1'b1;
          state_q <= StWriteWait;
        end
        StWriteWait: begin
          if (mem_ready_i) begin
            state_q <= StWriteMem;
            if (count_q == 16'd1) begin
              out_left_q <= 5'd1;
              after_q    <= StOp;
              state_q    <= StPush;
            end
          end
        end
        StFill: begin
          if (count_q == 16'd0 || (mem_ready_i && count_q == 16'd1)) begin
            out_left_q <= 5'd1;
            state_q    <= StPush;
          end
        end
        StCsrRead: begin
          if (csr_arready_i) aw_left_q <= 1'b0;
          if (csr_rvalid_i || no_time) begin
            aw_left_q  <= 1'b0;
            out_left_q <= (csr_rvalid_i && csr_rresp_i == 2'b00) ? 5'd5 : 5'd1;
            after_q    <= (csr_rvalid_i && csr_rresp_i == 2'b00) ? StOp : StSend;
            state_q    <= StPush;
          end
        end
        StCsrWrite: begin
          if (csr_awready_i) aw_left_q <= 1'b0;
          if (csr_wready_i) w_left_q <= 1'b0;
          if (csr_bvalid_i || no_time) begin
            aw_left_q  <= 1'b0;
            w_left_q   <= 1'b0;
            out_left_q <= 5'd1;
            after_q    <= (csr_bvalid_i && csr_bresp_i == 2'b00) ? StOp : StSend;
            state_q    <= StPush;
          end
          if (csr_addr_o == CsrAddrW'(CsrCtrl) && csr_bvalid_i && csr_bresp_i == 2'b00) begin
            enabled_q <= csr_wdata_o[0];
          end
        end
        StRequest: begin
          if (|(req_ready_i & client_hot) || no_time) begin
            out_left_q <= 5'd1;
            after_q    <= |(req_ready_i & client_hot) ? StOp : StSend;
            state_q    <= StPush;
          end
        end
        StBeat: begin
          // A beat may be on its way: some clocks are given to it.
          if (count_q == 16'd0 || (&timer_q[5:0])) begin
            out_left_q <= 5'd1;
            after_q    <= StOp;
            state_q    <= StPush;
          end else if (|(rsp_valid_i & client_hot)) begin
            out_left_q <= 5'(1 + LinkRspBytes);
            after_q    <= StBeat;
            state_q    <= StPush;
          end
        end
        StDone: begin
          if (|(done_ready_i & client_hot) || no_time) begin
            out_left_q <= 5'd1;
            after_q    <= |(done_ready_i & client_hot) ? StOp : StSend;
            state_q    <= StPush;
          end
        end
        StReset: begin
          enabled_q <= 1'b0;
          if (&timer_q[4:0]) state_q <= StPush;
        end
        StIdent: begin
          out_left_q <= 5'd1;
          after_q    <= (ident_q == 5'(LinkIdentBytes - 1)) ? StOp : StIdent;
          state_q    <= StPush;
        end
        StSend:  state_q <= StSending;
        default: if (!send_busy_i) state_q <= StIdle;
      endcase
    end
  end

  // Data, without reset
  always_ff @(posedge clk_i) begin
    if (state_q == StFirst) new_seq_q <= frame_data_i;
    if (state_q == StOpByte) op_q <= frame_data_i;
    if (state_q == StCheck) refuse_q <= refuse;
    if (state_q == StArgs && timer_q[0]) args_q <= {frame_data_i, args_q[8*MaxArgs-1:8]};
    if (state_q == StDo) begin
      client_q <= arg_client[1:0];
      off_q    <= (op_q == LinkFill) ? arg_off6[OffW-1:0] : arg_off4[OffW-1:0];
      ident_q  <= '0;
      unique case (op_q)
        LinkReadMem, LinkWriteMem: count_q <= 16'(mem_bytes);
        LinkFill:                  count_q <= {arg(args_q, 1), arg(args_q, 2)};
        default:                   count_q <= 16'(arg(args_q, 0));
      endcase
      if (op_q == LinkPoison && refuse_q == LinkOk) poison_line_o <= arg_off4[OffW-1:ByteW];
    end
    if (state_q == StWriteByte) byte_q <= frame_data_i;
    if ((state_q == StReadMem || state_q == StWriteWait) && mem_ready_i) begin
      byte_q  <= mem_rdata_i[8*off_q[ByteW-1:0] +: 8];
      off_q   <= off_q + 1'b1;
    end
    if (state_q == StFill && mem_ready_i) off_q <= off_q + OffW'(LinkLine);
    if (state_q == StReadWait || ((state_q == StWriteWait || state_q == StFill) && mem_ready_i) ||
        (state_q == StBeat && |(rsp_valid_i & client_hot))) begin
      count_q <= count_q - 16'd1;
    end
    if (state_q == StIdent) ident_q <= ident_q + 5'd1;

    // The answer
    unique case (state_q)
      StPush:     out_q <= {8'd0, out_q[127:8]};
      StJudge:    out_q <= 128'(LinkSequence);
      StArgs:     out_q <= 128'(LinkShort);
      StDo:       out_q <= (op_q == LinkHello && refuse_q == LinkOk) ?
                           {88'd0, args_q[8*MaxArgs-1 -: 32], refuse_q} :
                           128'({counter_q, flags, refuse_q});
      StReadWait: out_q <= 128'(byte_q);
      StWriteMem: out_q <= 128'(LinkShort);
      StCsrRead:  out_q <= {88'd0, csr_rdata_i,
                            !csr_rvalid_i ? LinkTimeout :
                            (csr_rresp_i == 2'b00) ? LinkOk : LinkBus};
      StCsrWrite: out_q <= {120'd0, !csr_bvalid_i ? LinkTimeout :
                                    (csr_bresp_i == 2'b00) ? LinkOk : LinkBus};
      StRequest:  out_q <= |(req_ready_i & client_hot) ? 128'(LinkOk) : 128'(LinkBusy);
      StDone:     out_q <= |(done_ready_i & client_hot) ? 128'(LinkOk) : 128'(LinkBusy);
      StBeat:     out_q <= (count_q == 16'd0 || (&timer_q[5:0])) ? '0 :
                           {(8 * LinkRspBytes)'(beat), 8'd1};
      StIdent:    out_q <= 128'(ident[8*ident_q +: 8]);
      default:    out_q <= 128'(LinkOk);
    endcase
  end

  // ---------------------------------------------------------------------------------------------
  // Ports
  // ---------------------------------------------------------------------------------------------
  assign frame_addr_o = ptr_q;
  assign release_o    = state_q == StSend;
  assign send_o       = state_q == StSend;
  assign send_len_o   = reply_q;

  assign mem_valid_o = state_q == StReadMem || state_q == StWriteWait ||
                       (state_q == StFill && count_q != 16'd0);
  assign mem_line_o  = off_q[OffW-1:ByteW];
  assign mem_wdata_o = {LinkLine{(state_q == StFill) ? arg(args_q, 0) : byte_q}};
  always_comb begin
    mem_strb_o = '0;
    if (state_q == StFill) mem_strb_o = '1;
    else if (state_q == StWriteWait) mem_strb_o[off_q[ByteW-1:0]] = 1'b1;
  end

  assign csr_addr_o    = (op_q == LinkWriteCsr) ? CsrAddrW'({arg(args_q, 4), arg(args_q, 5)})
                                                : CsrAddrW'({arg(args_q, 0), arg(args_q, 1)});
  assign csr_wdata_o   = args_q[8*MaxArgs-1 -: 32];
  assign csr_awvalid_o = state_q == StCsrWrite && aw_left_q;
  assign csr_wvalid_o  = state_q == StCsrWrite && w_left_q;
  assign csr_bready_o  = state_q == StCsrWrite;
  assign csr_arvalid_o = state_q == StCsrRead && aw_left_q;
  assign csr_rready_o  = state_q == StCsrRead;

  assign req_valid_o  = (state_q == StRequest) ? client_hot : '0;
  assign req_o        = args_q[8 +: $bits(req_t)];
  assign rsp_ready_o  = (state_q == StBeat && count_q != 16'd0 && !(&timer_q[5:0])) ? client_hot
                                                                                   : '0;
  assign done_valid_o = (state_q == StDone) ? client_hot : '0;
  assign done_o       = TagW'({arg(args_q, 0), arg(args_q, 1)});

  assign unit_rst_no = unit_rst_nq;
  assign good_o      = good;
  assign enabled_o   = enabled_q;

  // ---------------------------------------------------------------------------------------------
  // The reply
  // ---------------------------------------------------------------------------------------------
  logic           reply_we;
  logic [TxW-1:0] reply_addr;
  logic [7:0]     reply_data;
  assign reply_we   = state_q == StPush || (state_q == StJudge && !repeated);
  assign reply_addr = (state_q == StPush) ? reply_q : '0;
  assign reply_data = (state_q == StPush) ? out_q[7:0] : new_seq_q;
  tpt_ram_1r1w #(.Width(8), .Depth(2 ** TxW)) u_reply (
    .clk_i,
    .we_i   (reply_we),
    .waddr_i(reply_addr),
    .wdata_i(reply_data),
    .raddr_i(send_addr_i),
    .rdata_o(send_data_o)
  );

  `TPT_ASSERT(ReplyFits_A, 32'(reply_q) <= LinkMaxFrame)
  `TPT_ASSERT(PtrInFrame_A, state_q == StIdle || state_q == StFirst || ptr_q <= frame_len_i)
  `TPT_ASSERT(PushHasBytes_A, state_q != StPush || out_left_q != 5'd0)
  `TPT_ASSERT(OneClient_A, $onehot0(req_valid_o) && $onehot0(rsp_ready_o))

endmodule

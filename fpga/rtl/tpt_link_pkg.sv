// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// The link between a host and a board: frames, operations, limits.
///
/// This file is the one place where they are defined; the host's constants are made from it
/// (tools/gen_link.py), and docs/board.md explains them.
///
///     frame    Flag, stuffed bytes of {sequence number, payload, CRC-32}, Flag
///     request  payload = operations, one behind the other: {op, operands}
///     reply    payload = one answer for each operation: {status, data}
///
/// Operands and data are little-endian. Operations are done in order; the first one whose status is
/// not LinkOk is the last of its frame.
package tpt_link_pkg;

  /// Version of this protocol.
  localparam logic [7:0] LinkVersion = 8'd1;

  // Byte stuffing, as in RFC 1662: Flag and Escape inside a frame become Escape, byte ^ EscapeXor.
  localparam logic [7:0] LinkFlag      = 8'h7e;  // ends a frame and begins the next one
  localparam logic [7:0] LinkEscape    = 8'h7d;  // the next byte is inverted in EscapeXor
  localparam logic [7:0] LinkEscapeXor = 8'h20;

  /// Bytes of sequence number and payload in a frame, at most, in either direction.
  localparam int unsigned LinkMaxFrame = 1000;
  /// Bytes of the CRC.
  localparam int unsigned LinkCrcBytes = 4;

  /// CRC-32 (reflected, polynomial 0x04c11db7): begins with ones, sent inverted, low byte first.
  localparam logic [31:0] LinkCrcPoly  = 32'hedb8_8320;
  localparam logic [31:0] LinkCrcStart = 32'hffff_ffff;
  /// What is left when the CRC itself has gone through.
  localparam logic [31:0] LinkCrcGood  = 32'hdebb_20e3;

  /// Operations.
  typedef enum logic [7:0] {
    LinkHello     = 8'd1,   // nonce 4: a new session; answer: nonce 4, identity
    LinkReadMem   = 8'd2,   // offset 3, bytes 1; answer: the bytes
    LinkWriteMem  = 8'd3,   // offset 3, bytes 1, the bytes
    LinkFill      = 8'd4,   // offset 3, lines 2, byte 1: whole lines of LinkLine bytes
    LinkReadCsr   = 8'd5,   // offset 2; answer: value 4
    LinkWriteCsr  = 8'd6,   // offset 2, value 4
    LinkRequest   = 8'd7,   // client 1, request 25 (req_t)
    LinkResponses = 8'd8,   // client 1, beats 1; answer: {1, beat 15 (rsp_t)} for each beat, 0
    LinkDone      = 8'd9,   // client 1, tag 2
    LinkReset     = 8'd10,  // resets the unit, not the memory
    LinkStatus    = 8'd11,  // answer: flags 1, counters 5 times 2
    LinkPoison    = 8'd12   // on 1, offset 3: reads of this line are answered with an error
  } link_op_e;

  /// Status of an operation.
  typedef enum logic [7:0] {
    LinkOk       = 8'd0,
    LinkBusy     = 8'd1,  // the unit does not take it now; nothing was done
    LinkBadOp    = 8'd2,  // there is no such operation
    LinkShort    = 8'd3,  // the frame ends inside the operation
    LinkRange    = 8'd4,  // no such client, or outside of the memory
    LinkRoom     = 8'd5,  // the answer may not fit into the reply any more; nothing was done
    LinkBus      = 8'd6,  // the register answered with an error
    LinkTimeout  = 8'd7,  // the unit did not answer
    LinkSequence = 8'd8   // in place of all answers: not the next number; begin with LinkHello
  } link_status_e;

  /// Bytes of a line of the memory, what LinkFill and LinkPoison count in.
  localparam int unsigned LinkLine = 16;
  /// Bytes of a request and of a response beat.
  localparam int unsigned LinkReqBytes = 25;
  localparam int unsigned LinkRspBytes = 15;
  /// Counters of LinkStatus, two bytes each.
  localparam int unsigned LinkCounters = 5;
  /// Bytes of the identity in the answer to LinkHello, behind the nonce.
  localparam int unsigned LinkIdentBytes = 24;

  /// Identity of a board: first field last, so that the first byte on the line is `magic[7:0]`.
  typedef struct packed {
    logic [7:0]  reserved;   // 0
    logic [31:0] baud;       // of the line
    logic [31:0] clock_hz;   // of the unit
    logic [31:0] ram_bytes;  // size of the memory
    logic [39:0] ram_page;   // address of the memory as the unit sees it, in pages of 4 KiB
    logic [7:0]  clients;    // of the unit
    logic [7:0]  version;    // LinkVersion
    logic [31:0] magic;      // LinkMagic
  } link_ident_t;
  localparam logic [31:0] LinkMagic = 32'h4254_5054;  // "TPTB"

  /// Flags of LinkStatus, bit numbers.
  localparam int unsigned LinkFlagIrq     = 0;  // interrupt of the unit
  localparam int unsigned LinkFlagEnabled = 1;  // the unit was enabled over the link
  localparam int unsigned LinkFlagRamErr  = 2;  // the memory has answered with an error

  /// The CRC after one more byte.
  function automatic logic [31:0] link_crc(logic [31:0] crc, logic [7:0] data);
    logic [31:0] c;
    c = crc ^ {24'd0, data};
    for (int unsigned b = 0; b < 8; b++) c = {1'b0, c[31:1]} ^ (c[0] ? LinkCrcPoly : 32'd0);
    return c;
  endfunction

  /// Bytes of operands of an operation, those of variable length not counted.
  function automatic logic [4:0] link_operands(logic [7:0] op);
    unique case (op)
      LinkHello, LinkReadMem, LinkWriteMem, LinkPoison: return 5'd4;
      LinkFill, LinkWriteCsr:                           return 5'd6;
      LinkReadCsr, LinkResponses:                       return 5'd2;
      LinkRequest:                                      return 5'(LinkReqBytes + 1);
      LinkDone:                                         return 5'd3;
      default:                                          return 5'd0;
    endcase
  endfunction

  /// Bytes of data in the answer to an operation, those of variable length not counted.
  function automatic logic [4:0] link_answer(logic [7:0] op);
    unique case (op)
      LinkHello:     return 5'(4 + LinkIdentBytes);
      LinkReadCsr:   return 5'd4;
      LinkResponses: return 5'd1;
      LinkStatus:    return 5'(1 + 2 * LinkCounters);
      default:       return 5'd0;
    endcase
  endfunction

endpackage

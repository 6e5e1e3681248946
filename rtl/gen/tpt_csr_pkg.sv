// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

/// Offsets, bits and locks of the registers.
package tpt_csr_pkg;

  /// Width of a register address.
  localparam int unsigned CsrAddrW = 12;

  // Offsets; of an array: of its first register, and how many there are
  localparam logic [CsrAddrW-1:0] CsrId = 12'h000;  // RO
  localparam logic [CsrAddrW-1:0] CsrVersion = 12'h004;  // RO
  localparam logic [CsrAddrW-1:0] CsrCap = 12'h008;  // RO
  localparam logic [CsrAddrW-1:0] CsrCap2 = 12'h00c;  // RO
  localparam logic [CsrAddrW-1:0] CsrCtrl = 12'h010;  // RW
  localparam logic [CsrAddrW-1:0] CsrStatus = 12'h014;  // RO
  localparam logic [CsrAddrW-1:0] CsrMptBaseLo = 12'h018;  // RW
  localparam logic [CsrAddrW-1:0] CsrMptBaseHi = 12'h01c;  // RW
  localparam logic [CsrAddrW-1:0] CsrMptSize = 12'h020;  // RW
  localparam logic [CsrAddrW-1:0] CsrPermSecret = 12'h030;  // WO
  localparam int unsigned NumPermSecret = 4;
  localparam logic [CsrAddrW-1:0] CsrTagSecret = 12'h040;  // WO
  localparam int unsigned NumTagSecret = 4;
  localparam logic [CsrAddrW-1:0] CsrClientReset = 12'h050;  // W1S
  localparam logic [CsrAddrW-1:0] CsrFenceTime = 12'h054;  // RW
  localparam logic [CsrAddrW-1:0] CsrError = 12'h058;  // W1C
  localparam logic [CsrAddrW-1:0] CsrIntStatus = 12'h060;  // W1C
  localparam logic [CsrAddrW-1:0] CsrIntEnable = 12'h064;  // RW
  localparam logic [CsrAddrW-1:0] CsrCntRequests = 12'h080;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntMptHit = 12'h084;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntMptMiss = 12'h088;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntMptRead = 12'h08c;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntMttHit = 12'h090;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntMttMiss = 12'h094;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntMttRead = 12'h098;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntSegments = 12'h09c;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntRefused = 12'h0a0;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntBadDone = 12'h0a4;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntFences = 12'h0a8;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntEvict = 12'h0ac;  // RO
  localparam logic [CsrAddrW-1:0] CsrCntLate = 12'h0b0;  // RO
  localparam logic [CsrAddrW-1:0] CsrSynCount = 12'h104;  // RO
  localparam int unsigned NumSynCount = 20;
  localparam logic [CsrAddrW-1:0] CsrLogCount = 12'h180;  // RO
  localparam logic [CsrAddrW-1:0] CsrLog = 12'h190;  // RO
  localparam int unsigned NumLog = 4;
  localparam logic [CsrAddrW-1:0] CsrFaultCount = 12'h1c0;  // RO
  localparam logic [CsrAddrW-1:0] CsrFaultInfo = 12'h1c4;  // RO
  localparam logic [CsrAddrW-1:0] CsrFaultPageLo = 12'h1c8;  // RO
  localparam logic [CsrAddrW-1:0] CsrFaultPageHi = 12'h1cc;  // RO
  localparam logic [CsrAddrW-1:0] CsrFaultPop = 12'h1d0;  // W1P
  localparam logic [CsrAddrW-1:0] CsrQueueCtrl = 12'h200;  // RW, W1S
  localparam logic [CsrAddrW-1:0] CsrQueueStatus = 12'h204;  // RO
  localparam logic [CsrAddrW-1:0] CsrCmdqBaseLo = 12'h210;  // RW
  localparam logic [CsrAddrW-1:0] CsrCmdqBaseHi = 12'h214;  // RW
  localparam logic [CsrAddrW-1:0] CsrCmdqLogSize = 12'h218;  // RW
  localparam logic [CsrAddrW-1:0] CsrCmdqTail = 12'h21c;  // RW
  localparam logic [CsrAddrW-1:0] CsrCmdqHead = 12'h220;  // RO
  localparam logic [CsrAddrW-1:0] CsrCplqBaseLo = 12'h230;  // RW
  localparam logic [CsrAddrW-1:0] CsrCplqBaseHi = 12'h234;  // RW
  localparam logic [CsrAddrW-1:0] CsrCplqLogSize = 12'h238;  // RW
  localparam logic [CsrAddrW-1:0] CsrCplqHead = 12'h23c;  // RW
  localparam logic [CsrAddrW-1:0] CsrCplqTail = 12'h240;  // RO
  localparam logic [CsrAddrW-1:0] CsrHostwinEnable = 12'h280;  // RW
  localparam logic [CsrAddrW-1:0] CsrHostwinBaseLo = 12'h2c0;  // RW
  localparam int unsigned NumHostwinBaseLo = 4;
  localparam logic [CsrAddrW-1:0] CsrHostwinBaseHi = 12'h2c4;  // RW
  localparam int unsigned NumHostwinBaseHi = 4;
  localparam logic [CsrAddrW-1:0] CsrHostwinLimitLo = 12'h2c8;  // RW
  localparam int unsigned NumHostwinLimitLo = 4;
  localparam logic [CsrAddrW-1:0] CsrHostwinLimitHi = 12'h2cc;  // RW
  localparam int unsigned NumHostwinLimitHi = 4;
  localparam logic [CsrAddrW-1:0] CsrAlarm = 12'h300;  // RW
  localparam logic [CsrAddrW-1:0] CsrAlarmSelect = 12'h304;  // RW
  localparam logic [CsrAddrW-1:0] CsrAlarmStream = 12'h308;  // RO
  localparam logic [CsrAddrW-1:0] CsrAlarmPd = 12'h30c;  // RO
  localparam logic [CsrAddrW-1:0] CsrAlarmClear = 12'h310;  // W1P
  localparam logic [CsrAddrW-1:0] CsrAlarmBlocked = 12'h320;  // RO
  localparam int unsigned NumAlarmBlocked = 8;
  localparam logic [CsrAddrW-1:0] CsrIsolation = 12'h340;  // RW
  localparam logic [CsrAddrW-1:0] CsrPartMap = 12'h344;  // RW
  localparam logic [CsrAddrW-1:0] CsrRefusalTime = 12'h348;  // RW

  // Fields: number of the lowest bit
  localparam int unsigned VersionPatch = 0;
  localparam int unsigned VersionMinor = 8;
  localparam int unsigned VersionMajor = 16;
  localparam int unsigned CapClients = 0;
  localparam int unsigned CapMaxLevels = 4;
  localparam int unsigned CapLogStreams = 7;
  localparam int unsigned CapLogCtx = 10;
  localparam int unsigned CapLogAxiData = 14;
  localparam int unsigned CapLogMptSets = 16;
  localparam int unsigned CapLogMptWays = 20;
  localparam int unsigned CapLogMttSets = 22;
  localparam int unsigned CapLogMttWays = 26;
  localparam int unsigned CapLogLanes = 28;
  localparam int unsigned CapMerge = 30;
  localparam int unsigned Cap2Queues = 0;
  localparam int unsigned Cap2Frmr = 1;
  localparam int unsigned Cap2Alarm = 2;
  localparam int unsigned Cap2RefusalTime = 3;
  localparam int unsigned Cap2Windows = 4;
  localparam int unsigned Cap2Checked = 7;
  localparam int unsigned Cap2Syndromes = 8;
  localparam int unsigned Cap2LogParts = 13;
  localparam int unsigned Cap2LogEntries = 16;
  localparam int unsigned Cap2LogAlarmPds = 19;
  localparam int unsigned Cap2FaultSlots = 24;
  localparam int unsigned CtrlEnable = 0;
  localparam int unsigned CtrlPlain = 1;
  localparam int unsigned CtrlMerge = 2;
  localparam int unsigned CtrlPhys = 3;
  localparam int unsigned StatusReady = 0;
  localparam int unsigned StatusClearing = 1;
  localparam int unsigned StatusClearError = 2;
  localparam int unsigned StatusFenceBusy = 3;
  localparam int unsigned StatusIdle = 4;
  localparam int unsigned StatusLocked = 5;
  localparam int unsigned ClientResetClient0 = 0;
  localparam int unsigned ClientResetClient1 = 1;
  localparam int unsigned ClientResetClient2 = 2;
  localparam int unsigned ClientResetClient3 = 3;
  localparam int unsigned ErrorBadDone = 0;
  localparam int unsigned ErrorTagBusy = 1;
  localparam int unsigned ErrorBus = 2;
  localparam int unsigned ErrorMptBad = 3;
  localparam int unsigned ErrorFenceTime = 4;
  localparam int unsigned ErrorDoorbell = 5;
  localparam int unsigned ErrorLate = 6;
  localparam int unsigned IntStatusError = 0;
  localparam int unsigned IntStatusRefused = 1;
  localparam int unsigned IntStatusCompletion = 2;
  localparam int unsigned IntStatusPageFault = 3;
  localparam int unsigned IntStatusClearDone = 4;
  localparam int unsigned IntStatusAlarm = 5;
  localparam int unsigned IntEnableError = 0;
  localparam int unsigned IntEnableRefused = 1;
  localparam int unsigned IntEnableCompletion = 2;
  localparam int unsigned IntEnablePageFault = 3;
  localparam int unsigned IntEnableClearDone = 4;
  localparam int unsigned IntEnableAlarm = 5;
  localparam int unsigned LogTag = 0;
  localparam int unsigned LogStream = 10;
  localparam int unsigned LogSyndrome = 16;
  localparam int unsigned LogClient = 21;
  localparam int unsigned LogRefusal = 24;
  localparam int unsigned FaultCountWaiting = 0;
  localparam int unsigned FaultInfoIndex = 0;
  localparam int unsigned FaultInfoWrite = 23;
  localparam int unsigned FaultInfoSlot = 24;
  localparam int unsigned FaultInfoValid = 31;
  localparam int unsigned FaultPageHiPage = 0;
  localparam int unsigned FaultPageHiTag = 8;
  localparam int unsigned FaultPageHiClient = 20;
  localparam int unsigned FaultPageHiHeld = 31;
  localparam int unsigned FaultPopPop = 0;
  localparam int unsigned QueueCtrlEnable = 0;
  localparam int unsigned QueueCtrlArm = 1;
  localparam int unsigned QueueStatusEnabled = 0;
  localparam int unsigned QueueStatusBusy = 1;
  localparam int unsigned QueueStatusError = 2;
  localparam int unsigned QueueStatusFull = 3;
  localparam int unsigned CmdqBaseLoPage = 12;
  localparam int unsigned CmdqLogSizeValue = 0;
  localparam int unsigned CmdqTailSlot = 0;
  localparam int unsigned CmdqHeadSlot = 0;
  localparam int unsigned CplqBaseLoPage = 12;
  localparam int unsigned CplqLogSizeValue = 0;
  localparam int unsigned CplqHeadSlot = 0;
  localparam int unsigned CplqTailSlot = 0;
  localparam int unsigned HostwinEnableEnable = 0;
  localparam int unsigned HostwinBaseLoPage = 12;
  localparam int unsigned HostwinLimitLoPage = 12;
  localparam int unsigned AlarmStreamThreshold = 0;
  localparam int unsigned AlarmPdThreshold = 8;
  localparam int unsigned AlarmBlock = 16;
  localparam int unsigned AlarmSelectStream = 0;
  localparam int unsigned AlarmSelectClient = 6;
  localparam int unsigned AlarmSelectSlot = 8;
  localparam int unsigned AlarmStreamCount = 0;
  localparam int unsigned AlarmStreamBlocked = 31;
  localparam int unsigned AlarmPdCount = 0;
  localparam int unsigned AlarmPdPd = 8;
  localparam int unsigned AlarmClearStream = 0;
  localparam int unsigned AlarmClearPd = 1;
  localparam int unsigned AlarmClearEvery = 2;
  localparam int unsigned IsolationLogParts = 0;
  localparam int unsigned IsolationPdShift = 8;
  localparam int unsigned RefusalTimeClocks = 0;

  // Numbers of the counters
  localparam int unsigned NumCounters = 13;
  localparam int unsigned CntRequests = 0;
  localparam int unsigned CntMptHit = 1;
  localparam int unsigned CntMptMiss = 2;
  localparam int unsigned CntMptRead = 3;
  localparam int unsigned CntMttHit = 4;
  localparam int unsigned CntMttMiss = 5;
  localparam int unsigned CntMttRead = 6;
  localparam int unsigned CntSegments = 7;
  localparam int unsigned CntRefused = 8;
  localparam int unsigned CntBadDone = 9;
  localparam int unsigned CntFences = 10;
  localparam int unsigned CntEvict = 11;
  localparam int unsigned CntLate = 12;

  // Sticky error bits
  localparam int unsigned NumErrors = 7;

  /// The signal `locked` closes all of the register at this address.
  function automatic logic csr_locked(logic [CsrAddrW-1:0] addr);
    unique case (addr)
      12'h018, 12'h01c, 12'h020, 12'h030, 12'h034, 12'h038, 12'h03c, 12'h040,
      12'h044, 12'h048, 12'h04c, 12'h340, 12'h344: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  /// The signal `no_alarm` closes all of the register at this address.
  function automatic logic csr_no_alarm(logic [CsrAddrW-1:0] addr);
    unique case (addr)
      12'h300, 12'h304: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  /// The signal `no_refusal_time` closes all of the register at this address.
  function automatic logic csr_no_refusal_time(logic [CsrAddrW-1:0] addr);
    unique case (addr)
      12'h348: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  /// The signal `queue_locked` closes all of the register at this address.
  function automatic logic csr_queue_locked(logic [CsrAddrW-1:0] addr);
    unique case (addr)
      12'h210, 12'h214, 12'h218, 12'h230, 12'h234, 12'h238: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  /// The signal `window_locked` closes all of the register at this address.
  function automatic logic csr_window_locked(logic [CsrAddrW-1:0] addr);
    unique case (addr)
      12'h280, 12'h2c0, 12'h2d0, 12'h2e0, 12'h2f0, 12'h2c4, 12'h2d4, 12'h2e4,
      12'h2f4, 12'h2c8, 12'h2d8, 12'h2e8, 12'h2f8, 12'h2cc, 12'h2dc, 12'h2ec,
      12'h2fc: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  /// The register at this address can be written and reads as 0.
  function automatic logic csr_reads_zero(logic [CsrAddrW-1:0] addr);
    unique case (addr)
      12'h030, 12'h034, 12'h038, 12'h03c, 12'h040, 12'h044, 12'h048, 12'h04c,
      12'h1d0, 12'h310: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

endpackage

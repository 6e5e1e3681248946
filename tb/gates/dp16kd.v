// SPDX-License-Identifier: Apache-2.0
// Block RAM of the ECP5 as synth_ecp5 uses it for this project, for simulation: port A writes, port B
// reads, both in words of 1, 2, 4, 9, 18 or 36 bits; address bits below the word are byte enables from
// 18 bits on. Words of 36 bits are {DIB, DIA} and {DOB, DOA}. INITVAL_* is ignored.
//
// Bits that are read in the clock in which they are written come out inverted: the silicon promises
// nothing for them, and Yosys puts logic around the block where the RTL wants the old word.
// tools/gate_ram.py compares this with the RTL.
module DP16KD #(
  parameter integer DATA_WIDTH_A = 18,
  parameter integer DATA_WIDTH_B = 18,
  parameter REGMODE_A = "NOREG",
  parameter REGMODE_B = "NOREG",
  parameter RESETMODE = "SYNC",
  parameter ASYNC_RESET_RELEASE = "SYNC",
  parameter CSDECODE_A = "0b000",
  parameter CSDECODE_B = "0b000",
  parameter WRITEMODE_A = "NORMAL",
  parameter WRITEMODE_B = "NORMAL",
  parameter CLKAMUX = "CLKA",
  parameter CLKBMUX = "CLKB",
  parameter GSR = "AUTO",
  parameter [319:0] INITVAL_00 = 320'd0, INITVAL_01 = 320'd0, INITVAL_02 = 320'd0,
  parameter [319:0] INITVAL_03 = 320'd0, INITVAL_04 = 320'd0, INITVAL_05 = 320'd0,
  parameter [319:0] INITVAL_06 = 320'd0, INITVAL_07 = 320'd0, INITVAL_08 = 320'd0,
  parameter [319:0] INITVAL_09 = 320'd0, INITVAL_0A = 320'd0, INITVAL_0B = 320'd0,
  parameter [319:0] INITVAL_0C = 320'd0, INITVAL_0D = 320'd0, INITVAL_0E = 320'd0,
  parameter [319:0] INITVAL_0F = 320'd0, INITVAL_10 = 320'd0, INITVAL_11 = 320'd0,
  parameter [319:0] INITVAL_12 = 320'd0, INITVAL_13 = 320'd0, INITVAL_14 = 320'd0,
  parameter [319:0] INITVAL_15 = 320'd0, INITVAL_16 = 320'd0, INITVAL_17 = 320'd0,
  parameter [319:0] INITVAL_18 = 320'd0, INITVAL_19 = 320'd0, INITVAL_1A = 320'd0,
  parameter [319:0] INITVAL_1B = 320'd0, INITVAL_1C = 320'd0, INITVAL_1D = 320'd0,
  parameter [319:0] INITVAL_1E = 320'd0, INITVAL_1F = 320'd0, INITVAL_20 = 320'd0,
  parameter [319:0] INITVAL_21 = 320'd0, INITVAL_22 = 320'd0, INITVAL_23 = 320'd0,
  parameter [319:0] INITVAL_24 = 320'd0, INITVAL_25 = 320'd0, INITVAL_26 = 320'd0,
  parameter [319:0] INITVAL_27 = 320'd0, INITVAL_28 = 320'd0, INITVAL_29 = 320'd0,
  parameter [319:0] INITVAL_2A = 320'd0, INITVAL_2B = 320'd0, INITVAL_2C = 320'd0,
  parameter [319:0] INITVAL_2D = 320'd0, INITVAL_2E = 320'd0, INITVAL_2F = 320'd0,
  parameter [319:0] INITVAL_30 = 320'd0, INITVAL_31 = 320'd0, INITVAL_32 = 320'd0,
  parameter [319:0] INITVAL_33 = 320'd0, INITVAL_34 = 320'd0, INITVAL_35 = 320'd0,
  parameter [319:0] INITVAL_36 = 320'd0, INITVAL_37 = 320'd0, INITVAL_38 = 320'd0,
  parameter [319:0] INITVAL_39 = 320'd0, INITVAL_3A = 320'd0, INITVAL_3B = 320'd0,
  parameter [319:0] INITVAL_3C = 320'd0, INITVAL_3D = 320'd0, INITVAL_3E = 320'd0,
  parameter [319:0] INITVAL_3F = 320'd0
) (
  input wire DIA0, DIA1, DIA2, DIA3, DIA4, DIA5, DIA6, DIA7, DIA8,
  input wire DIA9, DIA10, DIA11, DIA12, DIA13, DIA14, DIA15, DIA16, DIA17,
  input wire DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8,
  input wire DIB9, DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16, DIB17,
  input wire ADA0, ADA1, ADA2, ADA3, ADA4, ADA5, ADA6, ADA7, ADA8, ADA9, ADA10, ADA11, ADA12, ADA13,
  input wire ADB0, ADB1, ADB2, ADB3, ADB4, ADB5, ADB6, ADB7, ADB8, ADB9, ADB10, ADB11, ADB12, ADB13,
  input wire CLKA, CEA, OCEA, WEA, RSTA, CSA0, CSA1, CSA2,
  input wire CLKB, CEB, OCEB, WEB, RSTB, CSB0, CSB1, CSB2,
  output wire DOA0, DOA1, DOA2, DOA3, DOA4, DOA5, DOA6, DOA7, DOA8,
  output wire DOA9, DOA10, DOA11, DOA12, DOA13, DOA14, DOA15, DOA16, DOA17,
  output wire DOB0, DOB1, DOB2, DOB3, DOB4, DOB5, DOB6, DOB7, DOB8,
  output wire DOB9, DOB10, DOB11, DOB12, DOB13, DOB14, DOB15, DOB16, DOB17
);

  localparam integer W = DATA_WIDTH_A;
  // Lowest address bit of a word.
  localparam integer LOW = W == 36 ? 5 : W == 18 ? 4 : W == 9 ? 3 : W == 4 ? 2 : W == 2 ? 1 : 0;

  wire [35:0] d = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6,
                   DIB5, DIB4, DIB3, DIB2, DIB1, DIB0, DIA17, DIA16, DIA15, DIA14, DIA13, DIA12,
                   DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  wire [13:0] ada = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2,
                     ADA1, ADA0};
  wire [13:0] adb = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2,
                     ADB1, ADB0};
  wire [13-LOW:0] wa = ada[13:LOW];
  wire [13-LOW:0] ra = adb[13:LOW];

  reg [W-1:0] mem [0:(16384 >> LOW)-1];
  reg [W-1:0] q;
  // Bits that are written now.
  reg [W-1:0] put;

  integer i;
  always @* for (i = 0; i < W; i = i + 1) put[i] = CEA & WEA & (W < 18 || ada[i / 9]);

  always @(posedge CLKA) if (|put) mem[wa] <= mem[wa] & ~put | d[W-1:0] & put;
  always @(posedge CLKB) begin
    if (CEB) q <= mem[ra] ^ (wa == ra ? put : {W{1'b0}});
    if (WEB || RSTA || RSTB || |{CSA2, CSA1, CSA0, CSB2, CSB1, CSB0})
      $fatal(1, "DP16KD: a use that this model does not know");
  end

  wire [35:0] outb = W == 36 ? q >> 18 : q;
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4,
          DOA3, DOA2, DOA1, DOA0} = W == 36 ? q[17 % W:0] : 18'd0;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4,
          DOB3, DOB2, DOB1, DOB0} = outb[17:0];

  initial if (DATA_WIDTH_A != DATA_WIDTH_B || REGMODE_A != "NOREG" || REGMODE_B != "NOREG" ||
              CLKAMUX != "CLKA" || CLKBMUX != "CLKB")
    $fatal(1, "DP16KD: a mode that this model does not know");

endmodule

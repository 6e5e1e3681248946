// SPDX-License-Identifier: Apache-2.0
// Judgement of a line's entries, mtt_judge with tpt_mtt_check, beside that in rust-hdl: `bad_o` is
// never 1, each bit of `seen_o` can be.
module eq_entry
  import tpt_pkg::*;
#(
  parameter int unsigned LineLog = 1,
  localparam int unsigned LineEnt = 2 ** LineLog
) (
  input  logic [LineEnt-1:0][63:0]  entry_i,
  input  logic [5:0]                log_i,
  input  logic [1:0]                encoding_i,
  input  logic                      write_i,
  input  logic                      ondemand_i,
  input  logic [IndexW-1:0]         index_i,
  input  logic [PageIdxW-1:LineLog] line_i,
  input  logic [2:0]                lvl_i,
  output logic [LineEnt-1:0]        bad_o,
  output logic [2:0]                seen_o
);

  logic [CheckW-1:0]     place;
  logic [LineEnt-1:0]    wrong;
  logic [MaxLogPage-1:0] low;
  tpt_mtt_check #(.LineEnt(LineEnt)) u_check (
    .index_i, .line_i, .lvl_i, .place_o(place), .entry_i, .place_i(place), .bad_o(wrong)
  );
  // Sizes and encodings that there are.
  logic legal;
  assign legal = (log_i >= 6'd12) && (log_i <= 6'd43) && (encoding_i != 2'd3);
  logic [LineEnt-1:0] gone, poor;
  assign seen_o = {legal && !gone[0] && !poor[0], legal && gone[0],
                   legal && !gone[0] && poor[0]};
  assign low = ~({MaxLogPage{1'b1}} << log_i);

  for (genvar j = 0; j < LineEnt; j++) begin : g_entry
    logic [1:0] judged;
    assign judged = mtt_judge(entry_i[j], low, encoding_i == EncFlagged,
                              encoding_i == EncChecked, wrong[j], write_i, ondemand_i);
    hdl_entry u_spec (
      .entry(entry_i[j]), .log(log_i), .encoding(encoding_i), .write(write_i),
      .ondemand(ondemand_i), .index(index_i), .number({line_i, LineLog'(j)}), .lvl(lvl_i),
      .absent(gone[j]), .bad(poor[j])
    );
    // Absent is judged before bad.
    assign bad_o[j] = legal && ((judged[1] != gone[j]) || (!gone[j] && (judged[0] != poor[j])));
  end

endmodule

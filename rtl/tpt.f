// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Sources of tpt_top, in order of compilation, relative to the root of the project.
rtl/tpt_pkg.sv
rtl/gen/tpt_csr_pkg.sv
rtl/gen/tpt_csr_regs_pkg.sv
rtl/tpt_ram_1r1w.sv
rtl/tpt_fifo.sv
rtl/tpt_rr_arb.sv
rtl/tpt_all_done.sv
rtl/tpt_crc16.sv
rtl/tpt_cache.sv
rtl/tpt_key_dec.sv
rtl/tpt_key_gen.sv
rtl/tpt_mpt_lookup.sv
rtl/tpt_mpt_check.sv
rtl/tpt_mw_parent.sv
rtl/tpt_mtt_walker.sv
rtl/tpt_client_tags.sv
rtl/tpt_client.sv
rtl/tpt_fence.sv
rtl/tpt_reg_engine.sv
rtl/gen/tpt_csr_regs.sv
rtl/tpt_csr.sv
rtl/tpt_refusal_log.sv
rtl/tpt_axi_rd.sv
rtl/tpt_axi_wr.sv
rtl/tpt_core.sv
rtl/tpt_top.sv

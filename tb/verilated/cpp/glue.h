// SPDX-License-Identifier: Apache-2.0
// Templates that fit a Verilated class behind Model. Included by one generated file per model.
#pragma once

#include <cstring>
#include <string>

#include "hooks.h"
#include "tpt-verilated/cpp/model.h"
#include "tpt-verilated/src/lib.rs.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif
#if VM_TRACE_FST
#include "verilated_fst_c.h"
#endif

namespace tpt {

// Bits [lsb +: width] of a port from or to an array of 32-bit words, whatever type Verilator chose.
inline uint32_t low_mask(int bits) { return bits >= 32 ? ~0u : (1u << bits) - 1u; }

template <class Port>
inline void put_bits(Port& port, int lsb, int width, const uint32_t* words) {
  if constexpr (std::is_integral_v<Port>) {
    uint64_t value = words[0];
    if (width > 32) value |= static_cast<uint64_t>(words[1]) << 32;
    if (width < 64) value &= (uint64_t{1} << width) - 1;
    const uint64_t mask = width < 64 ? (uint64_t{1} << width) - 1 : ~uint64_t{0};
    port = static_cast<Port>((port & ~(mask << lsb)) | (value << lsb));
  } else {
    int at = lsb;
    for (int word = 0; width > 0; ++word, width -= 32) {
      const int bits = width < 32 ? width : 32;
      const uint32_t value = words[word] & low_mask(bits);
      const int shift = at & 31;
      const uint32_t mask = low_mask(bits);
      port[at >> 5] = (port[at >> 5] & ~(mask << shift)) | (value << shift);
      if (shift + bits > 32) {
        const int left = 32 - shift;
        port[(at >> 5) + 1] = (port[(at >> 5) + 1] & ~(mask >> left)) | (value >> left);
      }
      at += 32;
    }
  }
}

template <class Port>
inline void get_bits(const Port& port, int lsb, int width, uint32_t* words) {
  if constexpr (std::is_integral_v<Port>) {
    uint64_t value = static_cast<uint64_t>(port) >> lsb;
    if (width < 64) value &= (uint64_t{1} << width) - 1;
    words[0] = static_cast<uint32_t>(value);
    if (width > 32) words[1] = static_cast<uint32_t>(value >> 32);
  } else {
    int at = lsb;
    for (int word = 0; width > 0; ++word, width -= 32, at += 32) {
      const int bits = width < 32 ? width : 32;
      const int shift = at & 31;
      uint32_t value = port[at >> 5] >> shift;
      if (shift + bits > 32) value |= port[(at >> 5) + 1] << (32 - shift);
      words[word] = value & low_mask(bits);
    }
  }
}

/// Context, model, waves and coverage of one device under test.
template <class V, class Base>
class Holder : public Base {
 public:
  explicit Holder(uint32_t seed) {
    ctx_.fatalOnError(false);
    ctx_.randReset(2);
    ctx_.randSeed(static_cast<int>(seed & 0x7fffffffu) | 1);
#if VM_TRACE_FST
    ctx_.traceEverOn(true);
#endif
    Verilated::threadContextp(&ctx_);
    model_ = std::make_unique<V>(&ctx_, "tpt");
    model_->clk_i = 0;
  }

  ~Holder() override {
    Verilated::threadContextp(&ctx_);
    close_waves();
    model_->final();
#if VM_COVERAGE
    tpt_add_coverage(ctx_.coveragep());
#endif
    model_.reset();
    // Later runtime calls of this thread must not find a context that is gone.
    Verilated::threadContextp(Verilated::defaultContextp());
  }

  bool open_waves(rust::Str path) override {
#if VM_TRACE_FST
    if (waves_) return false;
    Verilated::threadContextp(&ctx_);
    waves_ = std::make_unique<VerilatedFstC>();
    model_->trace(waves_.get(), 99);
    waves_->open(std::string(path).c_str());
    if (!waves_->isOpen()) waves_.reset();
    return static_cast<bool>(waves_);
#else
    (void)path;
    return false;
#endif
  }

  void close_waves() override {
#if VM_TRACE_FST
    if (waves_) waves_->close();
    waves_.reset();
#endif
  }

 protected:
  void begin() {
    Verilated::threadContextp(&ctx_);
    tpt_report().failed = false;
  }

  void half(int clk) {
    model_->clk_i = clk;
    model_->eval();
#if VM_TRACE_FST
    if (waves_) waves_->dump(ctx_.time());
#endif
    ctx_.timeInc(1);
  }

  bool end() const { return !tpt_report().failed; }

  VerilatedContext ctx_;
  std::unique_ptr<V> model_;
#if VM_TRACE_FST
  std::unique_ptr<VerilatedFstC> waves_;
#endif
};

/// The unit. Payload inputs are copied only with their valid, payload outputs likewise.
template <class V, int kClients>
class Top final : public Holder<V, TopModel> {
 public:
  using Holder<V, TopModel>::Holder;

  bool tick(const Inputs& in, Outputs& out) override {
    V& m = *this->model_;
    this->begin();

    m.rst_ni = in.rst_n;
    m.s_axil_awvalid = in.axil.awvalid;
    if (in.axil.awvalid) m.s_axil_awaddr = in.axil.awaddr;
    m.s_axil_wvalid = in.axil.wvalid;
    if (in.axil.wvalid) {
      m.s_axil_wdata = in.axil.wdata;
      m.s_axil_wstrb = in.axil.wstrb;
    }
    m.s_axil_bready = in.axil.bready;
    m.s_axil_arvalid = in.axil.arvalid;
    if (in.axil.arvalid) m.s_axil_araddr = in.axil.araddr;
    m.s_axil_rready = in.axil.rready;

    uint32_t req_valid = 0;
    uint32_t rsp_ready = 0;
    uint32_t done_valid = 0;
    for (int c = 0; c < kClients; ++c) {
      if (in.req_valid[c]) {
        req_valid |= 1u << c;
        put_bits(m.s_axis_req_tdata, c * kReqW, kReqW, &in.req[c * 7]);
      }
      if (in.done_valid[c]) {
        const uint32_t tag = in.done_tag[c];
        done_valid |= 1u << c;
        put_bits(m.s_axis_done_tdata, c * kDoneW, kDoneW, &tag);
      }
      if (in.rsp_ready[c]) rsp_ready |= 1u << c;
    }
    m.s_axis_req_tvalid = req_valid;
    m.m_axis_rsp_tready = rsp_ready;
    m.s_axis_done_tvalid = done_valid;
    m.s_axis_cmd_tvalid = in.cmd_valid;
    if (in.cmd_valid) put_bits(m.s_axis_cmd_tdata, 0, kCmdW, in.cmd.data());
    m.m_axis_cpl_tready = in.cpl_ready;

    m.m_axi_arready = in.axi.arready;
    m.m_axi_awready = in.axi.awready;
    m.m_axi_wready = in.axi.wready;
    m.m_axi_rvalid = in.axi.rvalid;
    if (in.axi.rvalid) {
      m.m_axi_rid = in.axi.rid;
      m.m_axi_rresp = in.axi.rresp;
      m.m_axi_rlast = in.axi.rlast;
      std::memcpy(m.m_axi_rdata.data(), in.axi.rdata.data(), sizeof(m.m_axi_rdata));
    }
    m.m_axi_bvalid = in.axi.bvalid;
    if (in.axi.bvalid) {
      m.m_axi_bid = in.axi.bid;
      m.m_axi_bresp = in.axi.bresp;
    }

    this->half(0);

    out.axil.awready = m.s_axil_awready;
    out.axil.wready = m.s_axil_wready;
    out.axil.bvalid = m.s_axil_bvalid;
    out.axil.bresp = m.s_axil_bresp;
    out.axil.arready = m.s_axil_arready;
    out.axil.rvalid = m.s_axil_rvalid;
    out.axil.rresp = m.s_axil_rresp;
    out.axil.rdata = m.s_axil_rdata;
    out.irq = m.irq_o;
    out.req_room = m.req_room_o;
    const uint32_t req_ready = m.s_axis_req_tready;
    const uint32_t rsp_valid = m.m_axis_rsp_tvalid;
    const uint32_t done_ready = m.s_axis_done_tready;
    for (int c = 0; c < kClients; ++c) {
      out.req_ready[c] = (req_ready >> c) & 1;
      out.done_ready[c] = (done_ready >> c) & 1;
      out.rsp_valid[c] = (rsp_valid >> c) & 1;
      if (out.rsp_valid[c]) get_bits(m.m_axis_rsp_tdata, c * kRspW, kRspW, &out.rsp[c * 4]);
    }
    out.cmd_ready = m.s_axis_cmd_tready;
    out.cpl_valid = m.m_axis_cpl_tvalid;
    if (out.cpl_valid) get_bits(m.m_axis_cpl_tdata, 0, kCplW, out.cpl.data());

    out.axi.arvalid = m.m_axi_arvalid;
    if (out.axi.arvalid) {
      out.axi.arid = m.m_axi_arid;
      out.axi.araddr = m.m_axi_araddr;
      out.axi.arlen = m.m_axi_arlen;
      out.axi.arsize = m.m_axi_arsize;
      out.axi.arburst = m.m_axi_arburst;
    }
    out.axi.awvalid = m.m_axi_awvalid;
    if (out.axi.awvalid) {
      out.axi.awid = m.m_axi_awid;
      out.axi.awaddr = m.m_axi_awaddr;
      out.axi.awlen = m.m_axi_awlen;
      out.axi.awsize = m.m_axi_awsize;
      out.axi.awburst = m.m_axi_awburst;
    }
    out.axi.wvalid = m.m_axi_wvalid;
    if (out.axi.wvalid) {
      out.axi.wlast = m.m_axi_wlast;
      out.axi.wstrb = m.m_axi_wstrb;
      std::memcpy(out.axi.wdata.data(), m.m_axi_wdata.data(), sizeof(m.m_axi_wdata));
    }
    out.axi.rready = m.m_axi_rready;
    out.axi.bready = m.m_axi_bready;

    this->half(1);
    return this->end();
  }

 private:
  static constexpr int kReqW = 195;
  static constexpr int kRspW = 120;
  static constexpr int kDoneW = 10;
  static constexpr int kCmdW = 603;
  static constexpr int kCplW = 624;
};

}  // namespace tpt

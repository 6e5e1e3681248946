#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/img/ (SVG; readable on light and on dark pages).

    tools/draw.py            draw
    tools/draw.py --check    only compare; exit code 1 if a picture is out of date
"""

import argparse
import json
from xml.sax.saxutils import escape

import common
import gen_formats
from common import ROOT

OUT = ROOT / "docs" / "img"
# Recorded by tb/bench/tests/driver_guide.rs: clock, lane and text of what happened.
DRIVER = ROOT / "docs" / "data" / "driver.json"

STYLE = """
  .bg { fill: #ffffff; }
  .box { fill: #f3f6fa; stroke: #49627d; }
  .mem { fill: #fdf5e6; stroke: #9a6b1f; }
  .hot { fill: #e8f3ec; stroke: #2f7a4d; }
  .ctl { fill: #f4eefb; stroke: #6c4a94; }
  .no { fill: #fbeaea; stroke: #a33a3a; }
  .grp { fill: none; stroke: #8796a8; stroke-dasharray: 5 4; }
  .box, .mem, .hot, .ctl, .no, .grp { stroke-width: 1.3; }
  text { font-family: "DejaVu Sans", Verdana, Helvetica, sans-serif; font-size: 13px; }
  text { fill: #1c2733; }
  .s { font-size: 11px; }
  .h { font-weight: bold; }
  .d { fill: #5b6b7c; }
  .m { font-family: "DejaVu Sans Mono", monospace; }
  .line { stroke: #49627d; stroke-width: 1.4; fill: none; }
  .dash { stroke-dasharray: 5 4; }
  .tip { fill: #49627d; }
  @media (prefers-color-scheme: dark) {
    .bg { fill: #14191f; }
    .box { fill: #1f2a36; stroke: #8fb0d1; }
    .mem { fill: #2e2718; stroke: #d2a458; }
    .hot { fill: #1b2f24; stroke: #6fc796; }
    .ctl { fill: #2a2236; stroke: #b99be0; }
    .no { fill: #3a2020; stroke: #e08a8a; }
    .grp { stroke: #7b8a9b; }
    text { fill: #e6edf4; }
    .d { fill: #a3b1bf; }
    .line { stroke: #8fb0d1; }
    .tip { fill: #8fb0d1; }
  }
"""


class Picture:
    """An SVG picture made of boxes, texts and arrows."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts = []

    def text(self, x, y, words, cls="", anchor="middle"):
        """One or more lines of text; y is the baseline of the first."""
        for number, line in enumerate(words.split("\n")):
            step = 14 if "s" in cls.split() else 17
            self.parts.append(
                f'<text x="{x}" y="{y + number * step}" text-anchor="{anchor}" xml:space="preserve"'
                + (f' class="{cls}"' if cls else "") + f'>{escape(line)}</text>')

    def box(self, x, y, width, height, head="", body="", cls="box", radius=5):
        """A box with a heading and smaller text below it, centred."""
        self.parts.append(f'<rect class="{cls}" x="{x}" y="{y}" width="{width}" '
                          f'height="{height}" rx="{radius}"/>')
        lines = body.split("\n") if body else []
        total = (17 if head else 0) + 14 * len(lines)
        top = y + (height - total) / 2
        if head:
            self.text(x + width / 2, round(top + 13, 1), head, "h")
            top += 17
        if lines:
            self.text(x + width / 2, round(top + 11, 1), body, "s")

    def group(self, x, y, width, height, name):
        """A dashed frame with a name in its upper left corner."""
        self.parts.append(f'<rect class="grp" x="{x}" y="{y}" width="{width}" height="{height}" '
                          'rx="8"/>')
        self.text(x + 10, y + 17, name, "s h d", "start")

    def line(self, *points, tip=True, both=False, dash=False, label="", at=None, anchor="middle"):
        """A line through points, with an arrow head at its end."""
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        cls = "line dash" if dash else "line"
        self.parts.append(f'<path class="{cls}" d="{path}"/>')
        if tip:
            self._tip(points[-2], points[-1])
        if both:
            self._tip(points[1], points[0])
        if label:
            if at is None:
                (x1, y1), (x2, y2) = points[0], points[1]
                at = ((x1 + x2) / 2, (y1 + y2) / 2 - 5)
            self.text(at[0], at[1], label, "s", anchor)

    def _tip(self, start, end):
        (x1, y1), (x2, y2) = start, end
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bx, by = x2 - 8 * ux, y2 - 8 * uy
        corners = [(x2, y2), (bx - 4 * uy, by + 4 * ux), (bx + 4 * uy, by - 4 * ux)]
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        self.parts.append(f'<polygon class="tip" points="{text}"/>')

    def svg(self):
        """The whole file."""
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" '
            f'aria-label="{escape(self.title)}">',
            "<!-- SPDX-License-Identifier: Apache-2.0 -->",
            "<!-- drawn by tools/draw.py -->",
            f"<title>{escape(self.title)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="bg" width="{self.width}" height="{self.height}" rx="6"/>',
            *self.parts, "</svg>", ""])


def overview():
    """The unit and its neighbours."""
    p = Picture(900, 372, "OpenTPT between a NIC, a driver and memory")
    p.group(14, 14, 178, 246, "NIC")
    p.box(30, 46, 146, 84, "transmit side", "gathers: local reads\nREAD / ATOMIC results")
    p.box(30, 158, 146, 84, "receive side", "remote writes, reads\natomics; receives")
    p.group(340, 14, 270, 246, "OpenTPT")
    p.box(356, 46, 238, 62, "check", "key, PD, rights, bounds: 12 rules\none syndrome, or a pass",
          "hot")
    p.box(356, 118, 238, 58, "translate", "page split, table walk, caches;\none to four lanes",
          "hot")
    p.box(356, 186, 238, 58, "register", "keys, MPT entries, fence", "ctl")
    p.line((176, 66), (340, 66), label="{key, va, len, pd, …}", at=(266, 60))
    p.line((340, 92), (176, 92), label="{pa, len} or syndrome", at=(266, 86))
    p.line((176, 118), (340, 118), dash=True, label="done", at=(266, 112))
    p.line((176, 200), (340, 200), both=True, label="the same, own port", at=(266, 194))
    p.group(708, 14, 178, 246, "memory")
    p.box(724, 46, 146, 84, "MPT", "64 bytes per region", "mem")
    p.box(724, 158, 146, 84, "MTT", "tables of pages,\n8 bytes per page", "mem")
    p.line((610, 88), (724, 88), both=True, label="AXI4", at=(660, 82))
    p.line((724, 200), (660, 200), (660, 147), (610, 147), label="line reads", at=(664, 216))
    p.box(340, 300, 270, 56, "driver", "pins pages, builds tables")
    p.line((420, 300), (420, 244), label="REG_MR, DEREG_MR, …", at=(412, 282), anchor="end")
    p.line((520, 244), (520, 300), label="status, lkey, rkey", at=(528, 282), anchor="start")
    p.line((610, 328), (797, 328), (797, 242), label="writes the tables", at=(704, 322))
    return p


def registration():
    """From ibv_reg_mr to keys, and back."""
    p = Picture(900, 560, "Registration and deregistration of a memory region")
    lanes = [(20, "application"), (245, "driver"), (470, "unit"), (695, "memory")]
    for x, name in lanes:
        p.group(x, 14, 185, 532, name)
    app, drv, unit, mem = (x + 92 for x, _ in lanes)
    p.box(app - 80, 42, 160, 44, "", "ibv_reg_mr(pd, addr,\nlength, access)")
    p.line((app + 80, 64), (drv - 80, 64))
    p.box(drv - 80, 42, 160, 62, "1  pin", "fault every page in,\nlock it in its frame")
    p.line((drv, 104), (drv, 118))
    p.box(drv - 80, 118, 160, 62, "2  tables",
          "largest page size that fits;\n0 to 3 levels, or flat")
    p.line((drv + 80, 150), (mem - 80, 150), label="page addresses", at=(unit, 144))
    p.box(mem - 80, 124, 160, 50, "MTT pages", "", "mem")
    p.line((drv, 180), (drv, 204))
    p.box(drv - 80, 204, 160, 34, "3  REG_MR")
    p.line((drv + 80, 221), (unit - 80, 221))
    p.box(unit - 80, 204, 160, 92, "4  register",
          "check the arguments,\ntake an index,\nmake lkey and rkey,\n"
          "write the entry", "ctl")
    p.line((unit + 80, 258), (mem - 80, 258))
    p.box(mem - 80, 233, 160, 50, "MPT entry", "VALID", "mem")
    p.line((unit - 80, 280), (drv, 280), (drv, 304), tip=False)
    p.line((drv, 304), (app, 304), (app, 268), label="lkey, rkey", at=(app + 60, 299))
    p.box(app - 80, 234, 160, 34, "", "uses the keys")
    p.line((20, 330), (880, 330), tip=False, dash=True)
    p.box(app - 80, 348, 160, 34, "", "ibv_dereg_mr(mr)")
    p.line((app + 80, 365), (drv - 80, 365))
    p.box(drv - 80, 348, 160, 34, "5  DEREG_MR")
    p.line((drv + 80, 365), (unit - 80, 365))
    p.box(unit - 80, 348, 160, 48, "6  invalidate", "this entry and no other", "ctl")
    p.line((unit + 80, 365), (mem - 80, 365))
    p.box(mem - 80, 348, 160, 34, "", "entry INVALID", "mem")
    p.line((unit, 396), (unit, 412))
    p.box(unit - 80, 412, 160, 62, "7  fence", "wait until every request\naccepted before is done",
          "ctl")
    p.line((unit + 80, 458), (mem - 80, 458))
    p.box(mem - 80, 441, 160, 34, "", "entry FREE", "mem")
    p.line((unit - 80, 458), (drv + 80, 458), label="done", at=((unit + drv) / 2, 452))
    p.box(drv - 80, 441, 160, 76, "8  take down", "free the tables,\nthen unpin", "box")
    p.text(app, 500, "only now may a frame\ngo to another owner", "s d")
    return p


def datapath():
    """Blocks of the data path."""
    p = Picture(980, 590, "Block diagram of the unit")
    p.box(16, 74, 130, 54, "request", "one port per client")
    p.box(16, 360, 130, 54, "response", "one port per client")
    p.box(16, 450, 130, 54, "done", "one port per client")
    p.group(170, 14, 792, 504, "tpt_top")
    p.group(338, 44, 482, 272, "lane: 1, 2 or 4 of them")
    p.box(192, 66, 128, 70, "intake", "context, tag,\nepoch, stream list", "hot")
    p.line((146, 101), (192, 101))
    p.box(356, 70, 150, 66, "tpt_mpt_lookup", "by the field of the key:\nhit, or one read, or join",
          "hot")
    p.line((320, 93), (356, 93))
    p.box(356, 164, 150, 50, "tpt_key_dec", "field → role, index\n5 clocks, for a miss", "hot")
    p.line((320, 116), (330, 116), (330, 189), (356, 189))
    p.line((431, 164), (431, 136), dash=True)
    p.box(540, 70, 130, 66, "tpt_mpt_check", "rules 0 to 11\n1 per clock", "hot")
    p.line((506, 103), (540, 103))
    p.box(534, 192, 142, 108, "tpt_mtt_walker",
          "leaf line, and beside it\nthe directory; if both\nfail: from the top\n"
          "down, level by level", "hot")
    p.line((580, 136), (580, 192), label="descriptor", at=(586, 168), anchor="start")
    p.box(698, 192, 114, 62, "verdict", "refused: one beat,\nno address", "hot")
    p.line((670, 103), (756, 103), (756, 192), label="syndrome", at=(750, 152), anchor="end")
    p.box(356, 248, 118, 52, "chunks", "pages of one line,\nper context", "hot")
    p.line((534, 276), (474, 276))
    p.line((440, 340), (440, 326), (516, 326), (516, 226), (534, 226), dash=True)
    p.text(510, 240, "next chunk", "s", "end")
    p.box(192, 340, 278, 92, "streams and page split",
          "order of acceptance inside a stream;\nstreams overtake each other;\n"
          "one beat per page, or neighbours merged", "hot")
    p.line((411, 300), (411, 340))
    p.line((756, 254), (756, 336), (560, 336), (560, 364), (470, 364))
    p.line((600, 300), (600, 352), (470, 352), label="one page: straight", at=(606, 350),
           anchor="start")
    p.line((192, 387), (146, 387))
    p.line((256, 136), (256, 340), dash=True, label="order", at=(250, 250), anchor="end")
    p.box(192, 450, 278, 54, "tags and epochs", "which tags are in use; requests per epoch", "ctl")
    p.line((146, 477), (192, 477))
    p.box(502, 384, 138, 62, "tpt_fence", "two epochs: a grace\nperiod, shared", "ctl")
    p.line((470, 477), (571, 477), (571, 446), label="epoch is empty", at=(520, 471))
    p.box(672, 392, 128, 112, "tpt_reg_engine",
          "commands, index\nallocation, clear,\nMPT writes, settled\napart; tpt_key_gen", "ctl")
    p.line((640, 415), (672, 415), both=True)
    p.box(842, 66, 104, 178, "AXI4", "reads: many in\nflight, any order\n\n\nwrites: MPT\nentries",
          "mem")
    p.line((494, 70), (494, 34), (894, 34), (894, 66), both=True, label="entries",
           at=(680, 30))
    p.line((640, 300), (640, 310), (868, 310), (868, 244), both=True, label="line reads",
           at=(746, 306), anchor="end")
    p.line((800, 430), (918, 430), (918, 244), label="entries", at=(912, 350), anchor="end")
    p.box(842, 452, 104, 52, "tpt_csr", "AXI4-Lite", "ctl")
    p.line((842, 480), (800, 480), both=True)
    p.box(672, 538, 128, 40, "command", "completion")
    p.line((736, 538), (736, 504), both=True)
    p.box(842, 538, 104, 40, "host", "registers")
    p.line((894, 538), (894, 504), both=True)
    return p


def tables():
    """Table layouts by level."""
    p = Picture(900, 520, "Where the page addresses are, by level")
    p.box(20, 20, 130, 44, "level 0", "1 to 4 pages", "ctl")
    p.box(180, 20, 150, 44, "MPT entry", "frame[0..3]", "mem")
    p.line((330, 42), (400, 42))
    p.box(400, 20, 110, 44, "pages", "up to 4", "hot")
    p.box(20, 100, 130, 44, "level 1", "≤ 512 pages *", "ctl")
    p.box(180, 100, 150, 44, "MPT entry", "frame[0]: root", "mem")
    p.box(400, 100, 110, 44, "table page", "512 entries", "mem")
    p.box(580, 100, 110, 44, "pages", "", "hot")
    p.line((330, 122), (400, 122))
    p.line((510, 122), (580, 122))
    p.box(20, 180, 130, 44, "level 2", "≤ 512² pages *", "ctl")
    p.box(180, 180, 150, 44, "MPT entry", "frame[0]: root", "mem")
    p.box(400, 180, 110, 44, "directory", "512 entries", "mem")
    p.box(580, 180, 110, 44, "table pages", "≤ 512", "mem")
    p.box(760, 180, 110, 44, "pages", "", "hot")
    for y in (202,):
        p.line((330, y), (400, y))
        p.line((510, y), (580, y))
        p.line((690, y), (760, y))
    p.box(20, 260, 130, 44, "level 3", "≤ 512³ pages *", "ctl")
    p.box(180, 260, 110, 44, "MPT entry", "frame[0]: root", "mem")
    p.box(330, 260, 100, 44, "directory", "", "mem")
    p.box(470, 260, 110, 44, "directories", "≤ 512", "mem")
    p.box(620, 260, 110, 44, "table pages", "≤ 512²", "mem")
    p.box(770, 260, 100, 44, "pages", "", "hot")
    for x1, x2 in ((290, 330), (430, 470), (580, 620), (730, 770)):
        p.line((x1, 282), (x2, 282))
    p.box(20, 340, 130, 44, "flat", "any length", "ctl")
    p.box(180, 340, 150, 44, "MPT entry", "frame[0], frame[1]: root", "mem")
    p.box(400, 340, 290, 44, "one contiguous array", "8-byte aligned", "mem")
    p.box(760, 340, 110, 44, "pages", "", "hot")
    p.line((330, 362), (400, 362))
    p.line((690, 362), (760, 362))
    p.text(20, 412, "* with table pages of 4 KiB; 64 KiB table pages hold 8192 entries. "
           "Level 4 exists if MaxLevels = 4.", "s d", "start")
    p.text(20, 440, "An address in a region with pages of 2^P bytes:", "s h", "start")
    p.text(20, 462, "o = (va − base) + start mod 2^P     base: start, or 0 if ZERO_BASED", "s m",
           "start")
    p.text(20, 480, "page number = o >> P     offset in the page = o mod 2^P", "s m", "start")
    p.text(20, 498, "level k index = (page number >> (k−1)·T) mod 2^T,  T = log2(table page) − 3;"
           "  the top level is not cut", "s m", "start")
    return p


def mpt_entry():
    """The 64 bytes of an MPT entry, made from the package."""
    package = gen_formats.Package((ROOT / gen_formats.PACKAGE).read_text(encoding="utf-8"))
    fields = []
    for field in reversed(package.structs["mpt_entry_t"]):
        if field.name == "frame":
            step = package.params["FrameW"]
            fields += [(f"frame[{k}]", field.low + step * k, step) for k in range(4)]
        else:
            fields.append((field.name, field.low, field.width))
    p = Picture(940, 636, "Layout of an MPT entry: 16 words of 32 bits")
    left, top, cell, high = 76, 44, 26, 34
    for bit in (31, 24, 16, 8, 0):
        p.text(left + (31 - bit) * cell + cell / 2, top - 10, str(bit), "s d")
    for row in range(16):
        p.text(left - 10, top + row * high + 21, f"byte {4 * row}", "s d", "end")
        for name, low, width in fields:
            first, last = max(low, 32 * row), min(low + width, 32 * row + 32) - 1
            if first > last:
                continue
            x = left + (31 - last % 32) * cell
            cls = "no" if name.startswith("rsvd") else \
                "hot" if name in ("start", "length", "pd", "access", "qpn", "lkey_tag",
                                  "rkey_tag", "state", "kind") else \
                "mem" if name.startswith("frame") or name in ("level", "log_page", "log_tpage",
                                                              "encoding") else "box"
            size = (last - first + 1) * cell
            p.parts.append(f'<rect class="{cls}" x="{x}" y="{top + row * high}" '
                           f'width="{size}" height="{high}"/>')
            part = name
            if width > last - first + 1:
                part += f" {last - low}:{first - low}"
            if len(part) * 7 > size:
                part = {"state": "st", "rinv_en": "ri", "rsvd0": "0", "log_tpage": "ltp",
                        "encoding": "enc", "level": "lvl", "kind": "kind"}.get(name, "")
            if name.startswith("rsvd") and part:
                part = "0"
            p.text(x + size / 2, top + row * high + 21, part, "s")
    y = top + 16 * high + 20
    for x, cls, word in ((left, "hot", "looked at by the check"), (left + 210, "mem",
                         "translation"),
                         (left + 340, "box", "upkeep"), (left + 440, "no", "zero")):
        p.parts.append(f'<rect class="{cls}" x="{x}" y="{y}" width="22" height="14"/>')
        p.text(x + 30, y + 12, word, "s", "start")
    p.text(left + 520, y + 12, "ri: rinv_en, enc: encoding", "s d", "start")
    return p


def fence():
    """The two-epoch fence on a time line."""
    p = Picture(900, 300, "The fence: two epochs and their counts")
    p.text(20, 34, "requests", "s h", "start")
    p.text(20, 154, "fence", "s h", "start")
    p.text(20, 214, "DEREG of region R", "s h", "start")
    p.line((150, 130), (880, 130), label="time", at=(866, 124))
    p.parts.append('<rect class="hot" x="150" y="140" width="300" height="24"/>')
    p.text(300, 157, "epoch 0", "s")
    p.parts.append('<rect class="ctl" x="450" y="140" width="430" height="24"/>')
    p.text(765, 157, "epoch 1", "s")
    spans = [(170, 22, 250, "a  (R)"), (260, 46, 300, "b"), (400, 70, 250,
              "c  (R, accepted before)"),
             (470, 22, 270, "d"), (690, 46, 150, "e")]
    for x, y, width, name in spans:
        cls = "hot" if x < 450 else "ctl"
        p.parts.append(f'<rect class="{cls}" x="{x}" y="{y}" width="{width}" height="18" rx="3"/>')
        p.text(x + 6, y + 13, name, "s", "start")
    p.line((450, 20), (450, 250), tip=False, dash=True)
    p.line((650, 60), (650, 250), tip=False, dash=True)
    p.parts.append('<rect class="no" x="370" y="200" width="80" height="24"/>')
    p.text(410, 217, "invalidate", "s")
    p.parts.append('<rect class="ctl" x="450" y="200" width="200" height="24"/>')
    p.text(550, 217, "grace period", "s")
    p.parts.append('<rect class="hot" x="650" y="200" width="110" height="24"/>')
    p.text(705, 217, "completion", "s")
    p.text(450, 268, "flip: new requests count in epoch 1", "s d")
    p.text(660, 286, "count of epoch 0 is 0: a, b, c are done", "s d")
    return p


def driver():
    """A registration, a deregistration and a page fault in time, from the recorded clocks."""
    report = json.loads(DRIVER.read_text(encoding="utf-8"))
    p = Picture(940, 690, "Registration, deregistration and a page fault, in clocks")
    lanes = [("memory", "host: memory", "mem"), ("registers", "host: registers", "ctl"),
             ("unit", "unit", "hot")]
    parts = [("registration", "REG_MR", 30),
             ("pending", "DEREG_MR while a client keeps a segment", 250),
             ("fault", "A request meets an absent page", 470)]
    for name, title, top in parts:
        events = report[name]
        first, last = events[0][0], events[-1][0]
        scale = 720 / (last - first)
        p.text(20, top, title, "h", "start")
        for row, (lane, label, cls) in enumerate(lanes):
            y = top + 52 + 54 * row
            p.text(20, y + 4, label, "s", "start")
            p.line((128, y), (910, y), tip=False)
            end = [-1e9, -1e9]
            for clock, where, text in events:
                if where != lane:
                    continue
                x = round(140 + (clock - first) * scale, 1)
                label = f"{clock - first}  {text}"
                wide = 6.4 * len(label)
                left = min(x - 4, 925 - wide)
                level = 0 if left > end[0] else 1
                end[level] = left + wide
                p.parts.append(f'<rect class="{cls}" x="{x - 4}" y="{y - 7}" width="8" '
                               'height="14" rx="2"/>')
                p.text(left, y - 12 if level == 0 else y + 20, label, "s", "start")
    return p


PICTURES = {"overview.svg": overview, "registration.svg": registration, "datapath.svg": datapath,
            "tables.svg": tables, "mpt-entry.svg": mpt_entry, "fence.svg": fence,
            "driver.svg": driver}


def main():
    """Draws or compares all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, draw in PICTURES.items():
        path = OUT / name
        new = draw().svg()
        if not path.exists() or path.read_text(encoding="utf-8") != new:
            stale.append(name)
            if not args.check:
                path.write_text(new, encoding="utf-8")
                print(f"draw: wrote docs/img/{name}")
    if args.check and stale:
        print(f"draw: out of date: {', '.join(stale)}; run tools/draw.py")
        return 1
    print(f"draw: {len(PICTURES)} pictures are up to date")
    return 0


if __name__ == "__main__":
    common.program(main)

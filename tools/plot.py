#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the plots of docs/performance.md from the report of `make bench`, and writes its tables.

    tools/plot.py            draw, and renew the tables of the page
    tools/plot.py --check    only compare; exit code 1 if something is out of date

Input, all in docs/data: bench.json, a copy of the report of `make bench`, bench-large.json, one of
that of `tpt bench --config large`, fmax-NAME.json, copies of those of tools/fmax.py, and
blocks-alone.json, that of tools/block_clocks.py.
"""

import argparse
import json
import math

from xml.sax.saxutils import escape

import common
from common import ROOT

DATA = ROOT / "docs" / "data"
IMG = ROOT / "docs" / "img"
PAGE = ROOT / "docs" / "performance.md"

STYLE = """
  .bg { fill: #ffffff; }
  text { font-family: "DejaVu Sans", Verdana, Helvetica, sans-serif; font-size: 12px; }
  text { fill: #1c2733; }
  .h { font-size: 13px; font-weight: bold; }
  .s { font-size: 11px; }
  .d { fill: #5b6b7c; }
  .grid { stroke: #e0e5eb; stroke-width: 1; }
  .axis { stroke: #49627d; stroke-width: 1.2; fill: none; }
  .law { stroke: #8796a8; stroke-width: 1.3; stroke-dasharray: 5 4; fill: none; }
  .a { stroke: #2563a8; fill: #2563a8; }
  .b { stroke: #b4541a; fill: #b4541a; }
  .c { stroke: #2f7a4d; fill: #2f7a4d; }
  .curve { stroke-width: 1.8; fill: none; }
  .fill { stroke: none; }
  .ta { fill: #2563a8; }
  .tb { fill: #b4541a; }
  .tc { fill: #2f7a4d; }
  @media (prefers-color-scheme: dark) {
    .bg { fill: #14191f; }
    text { fill: #e6edf4; }
    .d { fill: #a3b1bf; }
    .grid { stroke: #2a333d; }
    .axis { stroke: #8fb0d1; }
    .law { stroke: #7b8a9b; }
    .a { stroke: #6aa7e8; fill: #6aa7e8; }
    .b { stroke: #e8965c; fill: #e8965c; }
    .c { stroke: #6fc796; fill: #6fc796; }
    .ta { fill: #6aa7e8; }
    .tb { fill: #e8965c; }
    .tc { fill: #6fc796; }
    .curve { fill: none; }
  }
"""


class Plot:
    """An SVG drawing."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts = []

    def text(self, x, y, words, cls="", anchor="middle"):
        """One line of text."""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
                          + (f' class="{cls}"' if cls else "") + f'>{escape(words)}</text>')

    def line(self, points, cls):
        """A line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{cls}" points="{path}"/>')

    def dot(self, x, y, cls):
        """A point."""
        self.parts.append(f'<circle class="{cls} fill" cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>')

    def bar(self, x, y, width, height, cls):
        """A bar."""
        self.parts.append(f'<rect class="{cls} fill" x="{x:.1f}" y="{y:.1f}" '
                          f'width="{max(width, 0.5):.1f}" height="{height:.1f}"/>')

    def svg(self):
        """The file."""
        body = "\n".join(self.parts)
        return ('<!-- SPDX-License-Identifier: Apache-2.0 -->\n'
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" '
                f'height="{self.height}" viewBox="0 0 {self.width} {self.height}" role="img" '
                f'aria-label="{escape(self.title)}">\n<title>{escape(self.title)}</title>\n'
                f'<style>{STYLE}</style>\n<rect class="bg" width="100%" height="100%"/>\n'
                f'{body}\n</svg>\n')


def rows_of(report, prefix):
    """Rows whose names begin so."""
    return [row for row in report["rows"]
            if row["id"].startswith(prefix) and row["figure"] is not None]


def little(report):
    """Rate against requests inside."""
    kinds = [("little-1level-", "table misses, one level", "a", 4),
             ("little-3level-", "table misses, 3 levels, upper ones cached", "b", 20),
             ("little-mpt-", "MPT misses", "c", 36)]
    plot = Plot(720, 400, "Requests per clock against the number of requests inside the unit")
    left, right, top, bottom = 70, 690, 50, 340
    counts = sorted({row["data"]["requests_inside"] for kind in kinds
                     for row in rows_of(report, kind[0])})
    low, high = math.log2(counts[0]), math.log2(max(counts[-1], 2 * counts[0]))
    peak = 0.1 * math.ceil(10 * max(row["data"]["law"] for kind in kinds
                                    for row in rows_of(report, kind[0])))

    def at(n, rate):
        return (left + (math.log2(n) - low) / (high - low) * (right - left),
                bottom - rate / peak * (bottom - top))

    plot.text(left, 28, f"Misses overlap: {report['memory_latency']}-clock memory, configuration "
              f"{report['config']}", "h", "start")
    for step in range(0, 6):
        y = at(counts[0], peak * step / 5)[1]
        plot.line([(left, y), (right, y)], "grid")
        plot.text(left - 8, y + 4, f"{peak * step / 5:.2f}", "s d", "end")
    for n in counts:
        plot.text(at(n, 0)[0], bottom + 18, str(n), "s d")
    plot.text((left + right) / 2, bottom + 40, "requests inside the unit (log scale)", "d")
    plot.text(left, top - 6, "requests per clock", "d", "start")
    laws = [left_law(n, report["memory_latency"]) for n in counts]
    plot.line([at(n, rate) for n, rate in zip(counts, laws)], "law")
    for prefix, words, cls, shift in kinds:
        points = sorted((row["data"]["requests_inside"], row["figure"])
                        for row in rows_of(report, prefix))
        if not points:
            continue
        plot.line([at(*point) for point in points], f"{cls} curve")
        for point in points:
            plot.dot(*at(*point), cls)
        plot.text(left + 14, top + 10 + shift, words, f"t{cls}", "start")
    plot.text(left + 14, top + 66, "dashed: N / (latency + 20)", "d", "start")
    plot.line([(left, top), (left, bottom), (right, bottom)], "axis")
    return plot.svg()


def left_law(n, latency):
    """Little's law with one read per request."""
    return min(1.0, n / (latency + 20))


def programs(report):
    """Clocks per access by program."""
    rows = rows_of(report, "programs")
    traces = rows[0]["data"]["traces"] if rows else []
    traces = sorted(traces, key=lambda t: t["name"])
    step, top, left, wide = 19, 76, 300, 300
    plot = Plot(1010, top + step * len(traces) + 40, "Clocks per access by program")
    plot.text(20, 26, f"Recorded programs back to back, {report['memory_latency']}-clock memory, "
              f"configuration {report['config']}", "h", "start")
    plot.text(20, 46, "blue: fresh memory; orange: fragmented memory; green: huge pages", "d",
              "start")
    most = max((t["clocks_per_access"] for t in traces), default=1)
    scale = wide / math.log10(10 * most)
    for tick in (1, 10, 100, 1000):
        if tick <= most:
            x = left + math.log10(tick / 0.5) * scale
            plot.line([(x, top), (x, top + step * len(traces))], "grid")
            plot.text(x, top + step * len(traces) + 16, str(tick), "s d")
    for x, words in [(left + wide / 2, "clocks per access, whole run (log scale)"),
                     (690, "segments per access"),
                     (790, "MPT hits"), (870, "table hits"), (955, "reads per access")]:
        plot.text(x, top - 10, words, "s d")
    for number, trace in enumerate(traces):
        y = top + step * number
        name = trace["name"]
        cls = "b" if name.startswith("frag_") else "c" if "huge" in name else "a"
        plot.text(left - 10, y + 12, f"{name} ({trace['accesses']})", "s", "end")
        width = max(math.log10(trace["clocks_per_access"] / 0.5) * scale, 1)
        plot.bar(left, y + 2, width, step - 6, cls)
        plot.text(left + width + 6, y + 12, f"{trace['clocks_per_access']:.2f}", "s", "start")
        for x, words in [(690, f"{trace['beats_per_access']:.2f}"),
                         (790, percent(trace["mpt_hit_rate"])),
                         (870, percent(trace["mtt_hit_rate"])),
                         (955, f"{trace['reads_per_access']:.4f}")]:
            plot.text(x, y + 12, words, "s")
    return plot.svg()


def flat(report):
    """Latency split into reads and the unit's own clocks."""
    rows = rows_of(report, "flat")
    points = rows[0]["data"]["points"] if rows else []
    latency = report["memory_latency"]
    step, top, left, wide = 22, 80, 210, 430
    plot = Plot(940, top + step * len(points) + 40, "Cost of an access")
    plot.text(20, 26, f"Random accesses one after the other, {latency}-clock memory, configuration "
              f"{report['config']}", "h", "start")
    plot.text(20, 46, "blue: waiting for reads; orange: the rest, the unit's own clocks", "d",
              "start")
    most = max((p["latency_mean"] for p in points), default=1)
    for x, words in [(left + wide / 2, "clocks from request to response, mean"),
                     (800, "reads per access"), (890, "own clocks")]:
        plot.text(x, top - 10, words, "s d")
    for number, point in enumerate(points):
        y = top + step * number
        plot.text(left - 10, y + 14, point["name"], "s", "end")
        waiting = point["reads_per_access_alone"] * latency / most * wide
        whole = point["latency_mean"] / most * wide
        plot.bar(left, y + 3, waiting, step - 8, "a")
        plot.bar(left + waiting, y + 3, whole - waiting, step - 8, "b")
        plot.text(left + whole + 6, y + 14, f"{point['latency_mean']:.0f}", "s", "start")
        plot.text(800, y + 14, f"{point['reads_per_access_alone']:.2f}", "s")
        plot.text(890, y + 14, f"{point['own_clocks_least']} to {point['own_clocks_most']}", "s")
    return plot.svg()


def figure(x):
    """A number as the command prints it."""
    if x is None:
        return "–"
    return f"{x:,.0f}" if abs(x) >= 1000 or x == int(x) else f"{x:.3f}"


def percent(x):
    """A ratio as percent."""
    return "–" if x is None else f"{100 * x:.2f} %"


def table(report):
    """The table of the page."""
    lines = ["| row | what | target | figure | | verdict |",
             "| --- | --- | --- | --- | --- | --- |"]
    met = count = 0
    for row in report["rows"]:
        if row["verdict"] == "point":
            continue
        sign = "≥" if row["goal_is"] == "at least" else "≤"
        count += 1
        met += row["verdict"] == "pass"
        words = {"pass": "pass", "falls short": "**falls short**"}.get(
            row["verdict"], "not measured")
        note = f"<br>{row['note']}" if row["note"] else ""
        lines.append(f"| `{row['id']}` | {row['what']}{note} | {sign} {figure(row['goal'])} | "
                     f"{figure(row['figure'])} | {row['unit']} | {words} |")
    lines.append(f"\n{met} of {count} targets met.")
    return "\n".join(lines)


def programs_table(report):
    """One line per program."""
    lines = ["| trace | accesses | segments | segments/clock, first run | second run | "
             "clocks/access, whole | MPT hits | table hits | reads/access |", "|" + " --- |" * 9]
    rows = rows_of(report, "programs")
    for t in sorted(rows[0]["data"]["traces"] if rows else [], key=lambda t: t["name"]):
        lines.append(f"| {t['name']} | {t['accesses']} | {t['beats']} | "
                     f"{figure(t['warm_beats_per_clock'])} | "
                     f"{figure(t['again_beats_per_clock'])} | {t['clocks_per_access']:.3f} | "
                     f"{percent(t['mpt_hit_rate'])} | {percent(t['mtt_hit_rate'])} | "
                     f"{t['reads_per_access']:.4f} |")
    return "\n".join(lines)


# Measured in simulation of their own sources, 100-clock memory: name, hits per clock, latency of a
# hit, of a miss with nothing else inside, misses per clock and with how many outstanding.
PEERS = [
    ("JingZhao 2, MRMgt (one level, on-chip maps)", "0.167", "25", "130", "0.116 (20)"),
    ("riscv-iommu, translation wrapper", "1.0", "0", "304 (3 reads)", "0.0033 (1)"),
    ("CVA6, TLB and walker", "1.0", "0", "306 (3 reads)", "0.0033 (1)"),
    ("BJL RISCV_IOMMU", "0.2", "4", "210 (2 reads)", "0.0047 (1)"),
    ("Coyote, TLB arrays", "1.0 (0.125 with its state machine)", "3 (7 to 8)",
     "interrupt to the host", "–"),
]


def peers_table(report):
    """Our figures beside others."""
    lines = ["| unit | hits per clock | latency of a hit | latency of a miss, alone | "
             "misses per clock (outstanding) |", "| --- | --- | --- | --- | --- |"]
    found = {row["id"]: row for row in report["rows"]}
    ours = [row for row in rows_of(report, "peers-")]
    if ours and "hits-16" in found and "latency-hit" in found:
        alone = next(row for row in ours if row["id"] == "peers-2")
        rates = ", ".join(f"{row['figure']:.3f} ({row['data']['requests_inside']})" for row in ours
                          if row["id"] != "peers-2")
        lines.append(f"| **OpenTPT**, `{report['config']}` | {found['hits-16']['figure']:.3f} | "
                     f"{found['latency-hit']['figure']:.0f} | {alone['data']['latency']['median']} "
                     f"(1 read) | {rates} |")
    lines += ["| " + " | ".join(peer) + " |" for peer in PEERS]
    return "\n".join(lines)


def large_table():
    """Row, target and figure of the configuration `large`."""
    report = json.loads((DATA / "bench-large.json").read_text(encoding="utf-8"))
    lines = ["| row | target | figure | |", "| --- | --- | --- | --- |"]
    for row in report["rows"]:
        if row["verdict"] in ("pass", "falls short") and not row["wall_time"]:
            lines.append(f"| `{row['id']}` | {figure(row['goal'])} | {figure(row['figure'])} | "
                         f"{row['unit']} |")
    return "\n".join(lines)


def commands_table(report):
    """Clocks of each command alone."""
    points = next(row for row in report["rows"] if row["id"] == "commands")["data"]["points"]
    memories = sorted({point["memory_latency"] for point in points})
    lines = ["| command | " + " | ".join(f"clocks, {m}-clock memory" for m in memories) + " |",
             "| --- |" + " --- |" * len(memories)]
    for name in dict.fromkeys(point["command"] for point in points):
        found = {p["memory_latency"]: p["clocks"] for p in points if p["command"] == name}
        lines.append(f"| {name} | " + " | ".join(str(found[m]) for m in memories) + " |")
    return "\n".join(lines)


def area_table():
    """Cells by configuration and block, from the reports of tools/fmax.py."""
    lines = ["| configuration, block | LUT4 | flip-flops | block RAMs |",
             "| --- | --- | --- | --- |"]
    words = ("LUT4", "flip-flops", "block RAM (DP16KD)")
    for path in sorted(DATA.glob("fmax-*.json"),
                       key=lambda p: json.loads(p.read_text(encoding="utf-8"))["cells"]["LUT4"]):
        report = json.loads(path.read_text(encoding="utf-8"))
        cells = " | ".join(f"**{report['cells'][word]:,}**" for word in words)
        lines.append(f"| **`{report['config']}`**, whole | {cells} |")
        for block, counts in report.get("blocks", {}).items():
            lines.append(f"| {block} | " + " | ".join(f"{counts[word]:,}" for word in words) + " |")
    return "\n".join(lines)


def alone_table():
    """Clock of each block alone, from the report of tools/block_clocks.py."""
    report = json.loads((DATA / "blocks-alone.json").read_text(encoding="utf-8"))
    lines = [f"| block, configuration `{report['config']}` | MHz alone, grade {report['grade']} |",
             "| --- | --- |"]
    for row in sorted(report["blocks"], key=lambda row: row["MHz"]):
        lines.append(f"| {row['block']} | {row['MHz']:.1f} |")
    return "\n".join(lines)


def main():
    """Draws or compares."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    report = json.loads((DATA / "bench.json").read_text(encoding="utf-8"))
    files = {IMG / "perf-little.svg": little(report), IMG / "perf-programs.svg": programs(report),
             IMG / "perf-flat.svg": flat(report)}
    page = PAGE.read_text(encoding="utf-8")
    for mark, text in [("bench", table(report)), ("programs", programs_table(report)),
                       ("peers", peers_table(report)), ("area", area_table()),
                       ("commands", commands_table(report)), ("alone", alone_table()),
                       ("large", large_table())]:
        page = common.with_table(PAGE.name, page, mark, text)
    files[PAGE] = page
    stale = [path for path, text in files.items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"plot: {'out of date' if args.check else 'wrote'} {path.relative_to(ROOT)}")
        if not args.check:
            path.write_text(files[path], encoding="utf-8")
    print(f"plot: {len(files)} files, {len(stale)} {'out of date' if args.check else 'renewed'}")
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    common.program(main)

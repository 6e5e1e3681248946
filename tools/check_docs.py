#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the Markdown pages: every relative link and every picture leads to a file, every anchor to
a heading, every `make TARGET` that a page names is a target of the Makefile, and every file of the
project that a page names in backticks exists.

    tools/check_docs.py
"""

import re

import common
from common import ROOT

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|<img[^>]*?src=\"([^\"]+)\"")
CODE = re.compile(r"^```.*?^```", re.M | re.S)
FOLDERS = ("rtl/", "include/", "tb/", "tools/", "docs/", "data/", "scenarios/", "fpga/",
           "constraints/")


def anchor(heading):
    """The anchor of a heading, as the usual Markdown sites make it."""
    text = re.sub(r"[`*]", "", heading.strip().lower())
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def anchors(text):
    """All anchors of a page."""
    return {anchor(m[1]) for m in re.finditer(r"^#{1,6}\s+(.*?)\s*#*$", CODE.sub("", text), re.M)}


def link_problems(name, text, root=ROOT):
    """Links of a page that lead nowhere."""
    problems = []
    page = root / name
    for found in LINK.finditer(CODE.sub("", text)):
        target = found[1] or found[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        goal = (page.parent / path) if path else page
        if not goal.exists():
            problems.append(f"{name}: the link {target} leads nowhere")
        elif fragment and goal.suffix == ".md" and \
                fragment not in anchors(goal.read_text(encoding="utf-8")):
            problems.append(f"{name}: {target}: there is no heading #{fragment}")
    return problems


def name_problems(name, text, targets, root=ROOT):
    """Make targets and files that a page names but that do not exist."""
    problems = []
    for target in re.findall(r"(?:`|^\s*\$?\s*)make ([a-z][a-z-]*)", text, re.M):
        if target not in targets:
            problems.append(f"{name}: `make {target}` is no target of the Makefile")
    for path in re.findall(r"`([\w./-]+)`", text):
        if path.startswith(FOLDERS) and not re.search(r"[<>*{}]", path):
            if not (root / path).exists():
                problems.append(f"{name}: `{path}` does not exist")
    return problems


def main():
    """Prints what is wrong."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.M))
    pages = [name for name in common.tracked_files() if name.endswith(".md")]
    problems = []
    for name in pages:
        text = (ROOT / name).read_text(encoding="utf-8")
        problems += link_problems(name, text) + name_problems(name, text, targets)
    print("\n".join(problems + [f"check_docs: {len(pages)} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    common.program(main)

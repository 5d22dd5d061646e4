"""Hooks of mkdocs: tests are no pages, and links that leave docs/ or end at a folder lead to the repository."""

import os
import re

REPOSITORY = "https://github.com/csiglab/csiglab/blob/main/"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def on_files(files, config):
    for file in list(files):
        if file.src_uri.endswith((".go", ".py")) or file.src_uri.split("/")[0] in ("arrows", "changes", "testdata"):
            files.remove(file)
    return files


def on_page_markdown(markdown, page, config, files):
    folder = os.path.dirname(page.file.abs_src_path)

    def link(match):
        target = match[1].split("#")[0]
        path = os.path.normpath(os.path.join(folder, target))
        outside = os.path.relpath(path, config["docs_dir"]).startswith("..")
        if "://" in target or not target or not (outside or os.path.isdir(path)) or not os.path.exists(path):
            return match[0]
        return "](" + REPOSITORY + os.path.relpath(path, ROOT) + ")"

    return re.sub(r"\]\(([^)\s]+)\)", link, markdown)


def on_config(config):
    # Headings have the anchors that GitHub gives them, which the pages use.
    config["mdx_configs"]["toc"]["slugify"] = lambda text, separator: "".join(
        "-" if c == " " else c.lower() for c in text if c.isalnum() or c in "-_ ")
    return config

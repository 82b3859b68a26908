"""Does what docs/clients.md says, language by language, in a folder each: `page.py FOLDER`.

A `##` heading begins a language. Its blocks of `sh` are executed in their order, but for those of `SKIPPED`; any
other block is a file, whose name the line before it has between backticks.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs/clients.md"
# Installed already, in pinned versions; and the program in Java, for want of a library that Debian does not have.
SKIPPED = ("npm install", "pip install", "java -classpath")
PRODUCT = {"name": "Espresso beans", "unitPrice": 18.9, "currency": "EUR"}
EXPECTED = "Espresso beans 18.9 EUR"

# What CI cannot run, and what has to be there instead: what the program names, or what the compiler made of it.
NOT_RUN = {
    "Java": {"built/List.class": ["listProducts"]},
    "C#": {
        "catalog/src/Catalog/Api/ProductsApi.cs": [
            "public ProductsApi(Catalog.Client.Configuration configuration)",
            "ListProductsAsync(ProductStatusFilter? status = default, int? limit = default",
        ],
        "catalog/src/Catalog/Client/Configuration.cs": ["string BasePath", "string AccessToken"],
        "catalog/src/Catalog/Model/Product.cs": [" Name {", " UnitPrice {", " Currency {"],
    }
}


def languages() -> dict[str, list[tuple[str, str, str]]]:
    """For each language, its blocks: the language of a block, the file's name, and the text."""
    found = {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        name = section.split("\n", 1)[0]
        blocks = re.findall(r"(?:`([^`\n]+)`:\n\n)?```(\w+)\n(.*?)```", section, flags=re.DOTALL)
        found[name] = [(kind, file, text) for file, kind, text in blocks]
    return found


def do(name: str, blocks: list[tuple[str, str, str]], folder: Path) -> str:
    """What went wrong with a language; nothing, if its program listed the product."""
    folder.mkdir(exist_ok=True)
    printed = ""
    for kind, file, text in blocks:
        if kind != "sh":
            (folder / file).write_text(text)
            continue
        lines = [line for line in text.splitlines() if not line.startswith(SKIPPED)]
        script = "set -euo pipefail\n" + "\n".join(lines)
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            return f"{script}\n{done.stdout}{done.stderr}"
        printed = done.stdout
    if name not in NOT_RUN:
        return "" if EXPECTED in printed.splitlines() else f"it printed {printed!r}, not {EXPECTED!r}"
    missing = [
        f"{text!r} is not in {file}"
        for file, texts in NOT_RUN[name].items()
        for text in texts
        if text not in (folder / file).read_text(errors="replace")
    ]
    return "\n".join(missing)


def main() -> int:
    url, key = os.environ["BASE_URL"], os.environ["API_KEY"]
    os.environ |= {"INVOICING_BASE_URL": url, "INVOICING_API_KEY": key}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    body = json.dumps(PRODUCT).encode()
    urllib.request.urlopen(urllib.request.Request(f"{url}/api/v1/products", body, headers))
    found = languages()
    if list(found) != ["TypeScript", "Python", "Go", "Java", "C#"]:
        print(f"the page has other languages: {list(found)}", file=sys.stderr)
        return 1
    failed = 0
    for name, blocks in found.items():
        problem = do(name, blocks, Path(sys.argv[1]) / name)
        print(f"-- {name}: {'failed' if problem else 'as the page says'}")
        if problem:
            failed += 1
            print(problem, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

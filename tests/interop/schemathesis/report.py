"""The closing line of a run: how many examples of each document, how they ended, and what was answered."""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
answers = {}
for file in folder.glob("answers-*.json"):
    answers |= json.loads(file.read_text())
for operation, statuses in answers.items():
    print(f"{operation}: " + ", ".join(f"{status} x {count}" for status, count in statuses.items()))
for file in sorted(folder.glob("schemathesis-*.json")):
    report = json.loads(file.read_text())
    cases = report["test_cases"]
    print(
        f"schemathesis {file.stem.removeprefix('schemathesis-')}: seed {report['seed']}, "
        f"{cases['generated']} examples of {report['operations']['tested']} operations in "
        f"{report['running_time']:.0f} s, {cases['unique_failures']} failures, {cases['errored']} errors"
    )

# SPDX-License-Identifier: Apache-2.0
# Answers SMT-LIB questions with z3: one JSON string per line in, `sat`, `unsat` or `unknown` per line out.
import json
import sys

import z3

for line in sys.stdin:
    solver = z3.Solver()
    solver.set("timeout", 20000)
    solver.from_string(json.loads(line))
    print(solver.check(), flush=True)

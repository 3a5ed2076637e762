"""The Lua by itself, in the real sysbench but without a server."""

import re
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

from pipeline.workloads.base.sysbench import SHARED_SCRIPTS
from pipeline.workloads.sysbench import catalogue
from pipeline.workloads.sysbench.family import SCRIPTS
from tests.cases import every_case
from tests.workloads.sysbench_runner import run_script

DRAWS = 200_000
RANKS = 1000

SAMPLER = """
package.path = "%(scripts)s/?.lua;" .. package.path
local random = require("random")
function thread_init()
   random.seed(random.MEASURE, 0, "test")
   local draw = random.zipf(%(ranks)d, %(exponent)s)
   local counts = {}
   for rank = 1, %(ranks)d do counts[rank] = 0 end
   for _ = 1, %(draws)d do
      local rank = draw()
      counts[rank] = counts[rank] + 1
   end
   io.write("counts " .. table.concat(counts, " ") .. "\\n")
end
function event() return true end
"""

SCATTER = """
package.path = "%(scripts)s/?.lua;" .. package.path
local random = require("random")
function thread_init()
   for _, n in ipairs({ 1, 2, 3, 10, 1000, 6765, 2147483647 }) do
      local id_of = random.scatter(n)
      local ids = {}
      for rank = 1, math.min(n, 1000) do
         ids[rank] = string.format("%%d", id_of(rank))
      end
      io.write("n " .. n .. " ids " .. table.concat(ids, " ") .. "\\n")
   end
end
function event() return true end
"""


def run_text(tmp_path: Path, text: str, **values: object) -> str:
    script = tmp_path / "script.lua"
    script.write_text(text % {"scripts": SHARED_SCRIPTS, **values})
    done = run_script(script, "--rand-seed=7", "--events=1", "run")
    assert done.returncode == 0, done.stdout
    return done.stdout


@every_case("exponent", [0.5, 0.99, 1.0, 1.5])
def test_zipf_frequencies_are_those_of_the_distribution(tmp_path: Path, exponent: float) -> None:
    output = run_text(tmp_path, SAMPLER, ranks=RANKS, exponent=exponent, draws=DRAWS)
    line = next(line for line in output.splitlines() if line.startswith("counts "))
    counts = [int(count) for count in line.split()[1:]]
    assert sum(counts) == DRAWS
    weights = [rank**-exponent for rank in range(1, RANKS + 1)]
    expected = [DRAWS * weight / sum(weights) for weight in weights]
    chi_square = sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True))
    # 999 degrees of freedom: mean 999, standard deviation 45; the seed is fixed.
    assert 999 - 5 * 45 < chi_square < 999 + 5 * 45


def test_scatter_is_a_bijection_without_neighbours(tmp_path: Path) -> None:
    output = run_text(tmp_path, SCATTER)
    seen = 0
    for n_text, ids_text in re.findall(r"^n (\S+) ids (.*)$", output, re.MULTILINE):
        n, ids = int(float(n_text)), [int(i) for i in ids_text.split()]
        assert max(Counter(ids).values()) == 1
        assert min(ids) >= 1
        assert max(ids) <= n
        if n >= 1000:
            assert min(abs(a - b) for a, b in pairwise(ids)) > n / 10
        seen += 1
    assert seen == 7


def test_the_scripts_know_exactly_the_steps_of_the_catalogue() -> None:
    done = run_script(SCRIPTS / "nightshift.lua", "--step=nonsense", "run")
    assert done.returncode != 0
    known = re.search(r"unknown --step 'nonsense'; known are: (.*)", done.stdout)
    assert known is not None
    assert set(known[1].split(", ")) == {spec.lua_step for spec in catalogue.STEPS}


@every_case(
    ("option", "complaint"),
    [
        ("--range=0", "--range is 0, must be a whole number from 1 to 1000000"),
        ("--tables=1.5", "--tables is 1.5, must be a whole number"),
        ("--table-size=3000000000", "--table-size is 3000000000, must be a whole number"),
        ("--warmup=-1", "--warmup is -1, must be 0 or more seconds"),
        ("--zipf-exponent=0", "--zipf-exponent is 0, must be above 0"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(option: str, complaint: str) -> None:
    done = run_script(SCRIPTS / "nightshift.lua", "--step=point-query", option, "run")
    assert done.returncode != 0
    assert complaint in done.stdout


def test_a_load_that_fails_says_so_by_its_exit_code_with_threads_too() -> None:
    for threads in (1, 2):
        done = run_script(
            SCRIPTS / "nightshift.lua", f"--threads={threads}", "--tables=0", "prepare"
        )
        assert done.returncode != 0
        assert "--tables is 0" in done.stdout


def test_luacheck_has_no_complaint() -> None:
    root = next(parent for parent in SCRIPTS.parents if (parent / ".luacheckrc").exists())
    done = subprocess.run(
        ["luacheck", "--no-color", str(SCRIPTS.relative_to(root))],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout

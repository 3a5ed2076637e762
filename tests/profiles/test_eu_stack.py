"""The output of eu-stack, as elfutils 0.188 prints it."""

from __future__ import annotations

from pipeline.profiles.eu_stack import stacks_by_thread

PRINTED = """PID 812 - process
TID 812:
#0  0x00007f2b3151c9ec __select - /usr/lib/x86_64-linux-gnu/libc.so.6
#1  0x000055d4958b4081 - 1 main;loop - /srv/postgres
TID 814:
#0  0x00007f2b314ed545 clock_nanosleep@GLIBC_2.2.5 - /usr/lib/x86_64-linux-gnu/libc.so.6
#1  0x000055d4958b4099 - /srv/bin/postgres
#2  0x000055d4958b40aa std::vector<int, std::allocator<int> >::push_back(int const&) - /srv/mysqld
TID 815:
eu-stack: dwfl_thread_getframes tid 815: no matching address range
"""


def test_each_thread_has_its_functions_from_the_root_to_the_leaf() -> None:
    assert stacks_by_thread(PRINTED) == {
        812: ["main:loop", "__select"],
        814: [
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
            "[postgres]",
            "clock_nanosleep",
        ],
        815: [],
    }


def test_other_text_has_no_threads() -> None:
    assert stacks_by_thread("") == {}
    assert stacks_by_thread("#0  0x12 lost - file") == {}

-- wal for SQLite 3: every connection executes this before anything else.
-- Names in braces are scaled to the machine.

-- --- concurrency

-- A client that finds another one writing waits for it; only after this time (ms) is it
-- refused, which counts as an error, and tries its transaction again.
PRAGMA busy_timeout = 10000;

-- --- storage

-- The default since 3.12, said so that no release decides it. Before the first table.
PRAGMA page_size = 4096;

-- Readers and a writer do not wait for each other, as in every other DBMS that is compared.
PRAGMA journal_mode = WAL;

-- A commit does not wait for storage: the storage of most machines would otherwise be all that
-- is measured. A crash of the machine loses the last moments and damages nothing.
PRAGMA synchronous = NORMAL;

-- A checkpoint waits for storage and is done by the client whose commit reaches this many pages
-- (64 MB, not the 4 MB of the default), so that it is a part of all writes and not most of them.
PRAGMA wal_autocheckpoint = 16384;

-- --- memory

-- The database is mapped: a read costs CPU and no system call, which is what is compared, and
-- all clients share one copy of it.
PRAGMA mmap_size = {mmap_bytes};

-- Each connection's own, in KB (so the minus): for the pages that a transaction changes.
PRAGMA cache_size = -{cache_kb};

-- Sorting writes no file.
PRAGMA temp_store = MEMORY;

-- --- plans

-- A query's work stays in its own thread: CPU per operation then means one thing.
PRAGMA threads = 0;

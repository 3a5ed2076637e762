-- The tables sbtest1..N: made, filled and dropped.

local random = require("random")
local rows = require("rows")

local schema = {}

local ID = { pgsql = "SERIAL", mysql = "INTEGER NOT NULL AUTO_INCREMENT", sqlite = "INTEGER" }
local SUFFIX = { pgsql = "", mysql = " ENGINE = %s", sqlite = "" }

function schema.drop(connection, number)
   connection:query(("DROP TABLE IF EXISTS sbtest%d"):format(number))
end

local function create(connection, number)
   local suffix = SUFFIX[connection.dialect]:format(sysbench.opt.mysql_storage_engine)
   connection:query(([[
CREATE TABLE sbtest%d (
  id %s,
  k INTEGER DEFAULT 0 NOT NULL,
  c CHAR(%d) DEFAULT '' NOT NULL,
  pad CHAR(%d) DEFAULT '' NOT NULL,
  PRIMARY KEY (id)
)%s]]):format(number, ID[connection.dialect], rows.C_LENGTH, rows.PAD_LENGTH, suffix))
end

local function fill(connection, number, size)
   local uniform, digits = sysbench.rand.uniform, sysbench.rand.string
   random.seed(random.LOAD, number, "load")
   connection:bulk_insert(
      ("INSERT INTO sbtest%d (k, c, pad) VALUES"):format(number),
      size,
      function()
         return "(" .. uniform(1, size) .. digits(rows.LOAD_TAIL)
      end
   )
end

-- Makes table `number` with `size` rows, ids 1..size given by the server, then the
-- index on k: built on the full table, as the published runs do. What was there
-- before is dropped, so that an interrupted load can simply be repeated.
function schema.load(connection, number, size)
   schema.drop(connection, number)
   create(connection, number)
   connection:query("BEGIN")
   fill(connection, number, size)
   connection:query("COMMIT")
   connection:query(("CREATE INDEX k_%d ON sbtest%d (k)"):format(number, number))
end

return schema

-- The tables purchases1..N: made and dropped. They are filled by the step l.i0, and get their
-- secondary indexes by l.x.

local schema = {}

local ID = {
   pgsql = "BIGSERIAL",
   mysql = "BIGINT NOT NULL AUTO_INCREMENT",
   sqlite = "INTEGER",
}
local SUFFIX = { pgsql = "", mysql = " ENGINE = %s", sqlite = "" }

-- The columns of the secondary indexes, in order of their making.
schema.INDEXES = {
   { "productid", "customerid", "price" },
   { "cashregisterid", "customerid", "price" },
   { "price", "dateandtime", "customerid" },
}

function schema.table(client)
   return ("purchases%d"):format(client)
end

function schema.drop(connection, clients)
   for client = 1, clients do
      connection:query("DROP TABLE IF EXISTS " .. schema.table(client))
   end
end

local function make(connection, name)
   local dialect = connection.dialect
   connection:query(([[
CREATE TABLE %s (
  transactionid %s,
  dateandtime TIMESTAMP NOT NULL,
  cashregisterid INTEGER NOT NULL,
  customerid INTEGER NOT NULL,
  productid INTEGER NOT NULL,
  price INTEGER NOT NULL,
  data VARCHAR(20) NOT NULL,
  PRIMARY KEY (transactionid)
)%s]]):format(name, ID[dialect], SUFFIX[dialect]:format(sysbench.opt.mysql_storage_engine)))
   if dialect == "pgsql" then
      connection:query(("ALTER SEQUENCE %s_transactionid_seq CACHE 1000"):format(name))
   end
end

-- Makes an empty table for every client, in place of what was there.
function schema.make(connection, clients)
   schema.drop(connection, clients)
   for client = 1, clients do
      make(connection, schema.table(client))
   end
end

function schema.add_index(connection, name, number)
   local columns = table.concat(schema.INDEXES[number], ", ")
   connection:query(("CREATE INDEX %s_i%d ON %s (%s)"):format(name, number, name, columns))
end

return schema

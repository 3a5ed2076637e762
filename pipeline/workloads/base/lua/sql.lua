-- How SQL reaches the DBMS: by sysbench's drivers, or by sqlite.lua where --db-driver is sqlite,
-- which sysbench itself does not know.
--
-- A connection of either kind provides
--   connection.dialect                 "pgsql", "mysql" or "sqlite": whose SQL to write
--   connection:query(text)             one statement, result thrown away
--   connection:numbers(text)           the whole numbers of a query's only row, or nil for NULL
--   connection:rows(text)              all rows of a query, of each its n cells as texts or nil
--   connection:affected()              rows that the last statement, no query, changed
--   connection:prepare(text, kinds)    -> statement; ? is the placeholder, and kinds
--                                      holds, for each one, "int" or a text's length
--   connection:bulk_insert(head, n, row)   n tuples row(1) .. row(n) after `head`
--   connection:close()
--   statement.ints[i][0] = value       the i-th integer parameter, counted from 1
--   statement:randomise(i, template)   the i-th text parameter: '#' becomes a digit
--   statement:execute()
-- Every call raises an error when the statement fails. An error table with the field
-- errcode == sysbench.error.RESTART_EVENT asks for the whole event to be run again.

local ffi = require("ffi")

local sql = {}

local DIALECTS = { pgsql = true, mysql = true }

-- The beginning of a connection of sysbench 1.0.20 (src/db_driver.h), whose Lua gives the number
-- of affected rows only for statements that have a result.
ffi.cdef [[
typedef struct {
   int error, error_number;
   const char *state, *message;
   void *driver, *own;
   int counter;
   uint32_t rows;
} nightshift_connection;
]]

-- What its counter is after a statement that changed rows (src/sb_counter.h).
local WRITE = 2

-- What a script must declare for sqlite.lua.
local OPTIONS = {
   sqlite_library = { "Library to load, for the driver sqlite", "" },
   sqlite_database = { "File of the database, for the driver sqlite", "" },
   sqlite_configuration = { "File of SQL that a connection begins with, for the driver sqlite", "" },
}

-- The options of a script with those that connections need.
function sql.with_options(declared)
   for name, option in pairs(OPTIONS) do
      declared[name] = option
   end
   return declared
end

local Statement = {}
Statement.__index = Statement

function Statement:execute()
   self.handle:execute()
end

function Statement:randomise(i, template)
   self.texts[i]:set_rand_str(template)
end

local Connection = {}
Connection.__index = Connection

function Connection:query(text)
   self.handle:query(text)
end

function Connection:numbers(text)
   local result = self.handle:query(text)
   local row, found = result:fetch_row(), {}
   for i = 1, result.nfields do
      found[i] = row[i] and tonumber(row[i])
   end
   return unpack(found, 1, result.nfields)
end

function Connection:rows(text)
   local result, found = self.handle:query(text), {}
   for _ = 1, result.nrows do
      local row, cells = result:fetch_row(), { n = result.nfields }
      for i = 1, result.nfields do
         cells[i] = row[i]
      end
      found[#found + 1] = cells
   end
   return found
end

function Connection:affected()
   -- The mysql driver leaves the number as it was when a statement changed no row.
   return self.state.counter == WRITE and self.state.rows or 0
end

function Connection:prepare(text, kinds)
   local handle = self.handle:prepare(text)
   local statement = setmetatable({ handle = handle, ints = {}, texts = {}, params = {} }, Statement)
   for i, kind in ipairs(kinds) do
      local param
      if kind == "int" then
         param = handle:bind_create(sysbench.sql.type.INT)
         table.insert(statement.ints, param.buffer)
      else
         param = handle:bind_create(sysbench.sql.type.CHAR, kind)
         table.insert(statement.texts, param)
      end
      -- Keeps the buffers alive: C holds only their addresses.
      statement.params[i] = param
   end
   if #kinds > 0 and handle:bind_param(unpack(statement.params)) ~= 0 then
      error("cannot prepare: " .. text:sub(1, 200), 0)
   end
   table.insert(self.statements, statement)
   return statement
end

function Connection:bulk_insert(head, count, row)
   self.handle:bulk_insert_init(head)
   for i = 1, count do
      self.handle:bulk_insert_next(row(i))
   end
   self.handle:bulk_insert_done()
end

function Connection:close()
   for _, statement in ipairs(self.statements) do
      statement.handle:close()
   end
   self.statements = {}
   self.handle:disconnect()
end

-- A new connection by the driver that --db-driver names.
function sql.connect()
   if sysbench.opt.db_driver == "sqlite" then
      return require("sqlite").connect()
   end
   local driver = sysbench.sql.driver()
   local dialect = driver:name()
   if not DIALECTS[dialect] then
      error("nightshift speaks to the drivers pgsql, mysql and sqlite, not to " .. dialect, 0)
   end
   local connection = { dialect = dialect, driver = driver, statements = {} }
   connection.handle = driver:connect()
   connection.state = ffi.cast("nightshift_connection *", connection.handle)
   return setmetatable(connection, Connection)
end

return sql

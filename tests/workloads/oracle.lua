-- Stands around the scripts in the folder ORACLE_SCRIPTS and writes what each event executed to
-- the file ORACLE_LOG, a line of JSON for each statement: its text, the values it was given and, of
-- a query, the rows that it found. A blank line ends an event.
--
-- The rows of a query come from SQLite's prepared statement itself. The drivers of sysbench fetch
-- rows of texts only: there the same query is asked again as a text, within the same transaction,
-- and what the prepared one found is counted.

local ffi = require("ffi")

dofile(os.getenv("ORACLE_SCRIPTS") .. "/nightshift.lua")

local sql = require("sql")
local log = assert(io.open(os.getenv("ORACLE_LOG"), "w"))

-- Texts hold nothing that JSON would want escaped.
local function json(value)
   if type(value) == "table" then
      local parts = {}
      for i = 1, #value do
         parts[i] = json(value[i])
      end
      return "[" .. table.concat(parts, ",") .. "]"
   end
   return type(value) == "number" and ("%d"):format(value) or '"' .. value .. '"'
end

-- What a statement was given, in the order of its placeholders.
local function values_of(statement, kinds)
   local values, int, text = {}, 0, 0
   for i, kind in ipairs(kinds) do
      if kind == "int" then
         int = int + 1
         values[i] = tonumber(statement.ints[int][0])
      else
         text = text + 1
         local given = statement.texts[text]
         values[i] = ffi.string(given.buffer, given.size or given.data_len[0])
      end
   end
   return values
end

local servers = {}

-- Lets the statement remember how many rows it found; of what is no query there is no result.
function servers.watch(statement)
   local handle = statement.handle
   statement.handle = {
      execute = function()
         local result = handle:execute()
         statement.count = result ~= nil and result.nrows or 0
      end,
      close = function()
         handle:close()
      end,
   }
end

-- The rows that a query found, and how many the prepared statement had.
function servers.found(connection, statement, text, values)
   local i = 0
   local result = connection.handle:query((text:gsub("%?", function()
      i = i + 1
      return tostring(values[i])
   end)))
   local rows = {}
   for row = 1, result.nrows do
      rows[row] = result:fetch_row()
   end
   return rows, statement.count
end

local sqlite = {}

function sqlite.watch(statement)
   statement.library = ffi.load(sysbench.opt.sqlite_library)
end

function sqlite.found(_, statement)
   local library, handle, rows = statement.library, statement.handle, {}
   while library.sqlite3_step(handle) == 100 do
      local row = {}
      for column = 0, statement.columns - 1 do
         row[column + 1] = ffi.string(library.oracle_text(handle, column))
      end
      rows[#rows + 1] = row
   end
   library.sqlite3_reset(handle)
   return rows, #rows
end

local function watched(connection)
   local way = connection.dialect == "sqlite" and sqlite or servers
   local prepare = connection.prepare
   function connection.prepare(self, text, kinds)
      local statement = prepare(self, text, kinds)
      local execute = statement.execute
      way.watch(statement)
      function statement.execute()
         execute(statement)
         local values = values_of(statement, kinds)
         local line = ('{"text":%s,"values":%s'):format(json(text), json(values))
         if text:find("^SELECT") then
            local rows, count = way.found(connection, statement, text, values)
            line = line .. (',"rows":%s,"count":%d'):format(json(rows), count)
         end
         log:write(line .. "}\n")
      end
      return statement
   end
   function connection.query(_, text)
      error("executed without being prepared: " .. text, 0)
   end
   return connection
end

local connect = sql.connect
function sql.connect()
   local connection = connect()
   if connection.dialect == "sqlite" then
      ffi.cdef('const char *oracle_text(sqlite3_stmt *statement, int column) __asm__("sqlite3_column_text");')
   end
   return watched(connection)
end

local run, done = event, thread_done

function event()
   run()
   log:write("\n")
end

function thread_done()
   log:close()
   done()
end

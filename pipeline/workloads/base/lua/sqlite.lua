-- Connections to SQLite, which runs inside of sysbench: by FFI into the library that
-- --sqlite-library names. They are what sql.lua says a connection is. Every thread has one
-- of its own.
--
-- Queries and errors are counted by sysbench's own counters, as its drivers count them, so
-- that all reports are the same.

local ffi = require("ffi")

ffi.cdef [[
void sb_counter_inc(int thread_id, int type);

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_open_v2(const char *file, sqlite3 **connection, int flags, const char *vfs);
int sqlite3_close(sqlite3 *connection);
const char *sqlite3_errmsg(sqlite3 *connection);
int sqlite3_exec(sqlite3 *connection, const char *text, void *callback, void *argument, char **error);
int sqlite3_get_autocommit(sqlite3 *connection);
int sqlite3_total_changes(sqlite3 *connection);
int sqlite3_changes(sqlite3 *connection);
const char *sqlite3_column_text(sqlite3_stmt *statement, int column);
int64_t sqlite3_column_int64(sqlite3_stmt *statement, int column);
int sqlite3_prepare_v2(sqlite3 *connection, const char *text, int size, sqlite3_stmt **statement,
                       const char **rest);
int sqlite3_finalize(sqlite3_stmt *statement);
int sqlite3_bind_int(sqlite3_stmt *statement, int place, int value);
int sqlite3_bind_text(sqlite3_stmt *statement, int place, const char *text, int size,
                      void (*destructor)(void *));
int sqlite3_step(sqlite3_stmt *statement);
int sqlite3_reset(sqlite3_stmt *statement);
int sqlite3_column_count(sqlite3_stmt *statement);
int sqlite3_column_type(sqlite3_stmt *statement, int column);
int sqlite3_column_bytes(sqlite3_stmt *statement, int column);
/* What they return is not looked at, as it is not by the drivers: of no value here an object
   is made in Lua. */
void nightshift_fetch_integer(sqlite3_stmt *statement, int column) __asm__("sqlite3_column_int64");
void nightshift_fetch_text(sqlite3_stmt *statement, int column) __asm__("sqlite3_column_text");
]]

local OPEN_READ_WRITE = 2
local OK, BUSY, LOCKED, ROW, DONE = 0, 5, 6, 100, 101
local INTEGER = 1

-- sysbench's counters, as in 1.0.20's src/sb_counter.h.
local OTHER, READ, WRITE, ERROR = 0, 1, 2, 4

-- Rows that one INSERT of the load has.
local ROWS_AT_ONCE = 500

-- The FFI namespace of the library, of each thread its own.
local library

-- Ends what was begun and raises SQLite's own words; where another connection was in the
-- way longer than the busy timeout, the event is to be run again.
local function fail(connection, code)
   local said = ffi.string(library.sqlite3_errmsg(connection.handle))
   if library.sqlite3_get_autocommit(connection.handle) == 0 then
      library.sqlite3_exec(connection.handle, "ROLLBACK", nil, nil, nil)
   end
   ffi.C.sb_counter_inc(connection.thread, ERROR)
   local reason = "SQLite: " .. said
   local base = code % 256
   if base == BUSY or base == LOCKED then
      error(setmetatable({ errcode = sysbench.error.RESTART_EVENT }, {
         __tostring = function()
            return reason
         end,
      }), 0)
   end
   error(reason, 0)
end

local Statement = {}
Statement.__index = Statement

-- Every row is stepped to and every column fetched: a driver gets them all over the wire.
local function fetch(handle, columns)
   local code = library.sqlite3_step(handle)
   while code == ROW do
      for column = 0, columns - 1 do
         if library.sqlite3_column_type(handle, column) == INTEGER then
            library.nightshift_fetch_integer(handle, column)
         else
            library.nightshift_fetch_text(handle, column)
            library.sqlite3_column_bytes(handle, column)
         end
      end
      code = library.sqlite3_step(handle)
   end
   return code
end

-- What a statement that was executed counts as: a write that changed no row is none.
local function counter_of(statement, connection)
   if statement.columns > 0 then
      return READ
   end
   local before, changes = connection.changes, library.sqlite3_total_changes(connection.handle)
   connection.changes = changes
   return changes ~= before and WRITE or OTHER
end

function Statement:execute()
   local handle, connection = self.handle, self.connection
   local ints, places = self.ints, self.int_places
   for i = 1, #ints do
      library.sqlite3_bind_int(handle, places[i], ints[i][0])
   end
   local texts = self.texts
   for i = 1, #texts do
      local text = texts[i]
      library.sqlite3_bind_text(handle, text.place, text.buffer, text.size, nil)
   end
   local code = fetch(handle, self.columns)
   library.sqlite3_reset(handle)
   if code ~= DONE then
      fail(connection, code)
   end
   ffi.C.sb_counter_inc(connection.thread, counter_of(self, connection))
end

function Statement:randomise(i, template)
   local text = self.texts[i]
   text.size = #template
   ffi.C.sb_rand_str(template, text.buffer)
end

local Connection = {}
Connection.__index = Connection

function Connection:query(text)
   local code = library.sqlite3_exec(self.handle, text, nil, nil, nil)
   if code ~= OK then
      fail(self, code)
   end
end

function Connection:affected()
   return library.sqlite3_changes(self.handle)
end

function Connection:numbers(text)
   local statement = self:prepare(text, {})
   local handle, found = statement.handle, {}
   local code = library.sqlite3_step(handle)
   for column = 0, statement.columns - 1 do
      if code == ROW and library.sqlite3_column_type(handle, column) == INTEGER then
         found[column + 1] = tonumber(library.sqlite3_column_int64(handle, column))
      end
   end
   table.remove(self.statements)
   library.sqlite3_finalize(handle)
   if code ~= ROW then
      fail(self, code)
   end
   return unpack(found, 1, statement.columns)
end

function Connection:rows(text)
   local statement, found = self:prepare(text, {}), {}
   local handle = statement.handle
   local code = library.sqlite3_step(handle)
   while code == ROW do
      local cells = { n = statement.columns }
      for column = 0, statement.columns - 1 do
         local cell = library.sqlite3_column_text(handle, column)
         cells[column + 1] = cell ~= nil and ffi.string(cell) or nil
      end
      found[#found + 1] = cells
      code = library.sqlite3_step(handle)
   end
   table.remove(self.statements)
   library.sqlite3_finalize(handle)
   if code ~= DONE then
      fail(self, code)
   end
   return found
end

function Connection:prepare(text, kinds)
   local prepared = ffi.new("sqlite3_stmt *[1]")
   local code = library.sqlite3_prepare_v2(self.handle, text, #text, prepared, nil)
   if code ~= OK then
      fail(self, code)
   end
   local handle = prepared[0]
   local statement = setmetatable({
      handle = handle,
      connection = self,
      columns = library.sqlite3_column_count(handle),
      ints = {},
      int_places = {},
      texts = {},
   }, Statement)
   for place, kind in ipairs(kinds) do
      if kind == "int" then
         table.insert(statement.ints, ffi.new("int32_t[1]"))
         table.insert(statement.int_places, place)
      else
         -- One byte more, for the zero that sysbench ends a text with.
         table.insert(statement.texts, { place = place, buffer = ffi.new("char[?]", kind + 1), size = 0 })
      end
   end
   table.insert(self.statements, statement)
   return statement
end

function Connection:bulk_insert(head, count, row)
   for first = 1, count, ROWS_AT_ONCE do
      local rows = {}
      for i = first, math.min(first + ROWS_AT_ONCE - 1, count) do
         rows[#rows + 1] = row(i)
      end
      self:query(head .. table.concat(rows, ","))
   end
end

function Connection:close()
   for _, statement in ipairs(self.statements) do
      library.sqlite3_finalize(statement.handle)
   end
   self.statements = {}
   library.sqlite3_close(self.handle)
end

local function read(path)
   local file, reason = io.open(path)
   if not file then
      error(reason, 0)
   end
   local text = file:read("*a")
   file:close()
   return text
end

local sqlite = {}

-- A connection to --sqlite-database that has executed --sqlite-configuration.
function sqlite.connect()
   library = library or ffi.load(sysbench.opt.sqlite_library)
   local opened = ffi.new("sqlite3 *[1]")
   local code = library.sqlite3_open_v2(sysbench.opt.sqlite_database, opened, OPEN_READ_WRITE, nil)
   local connection = setmetatable({
      dialect = "sqlite",
      handle = opened[0],
      thread = sysbench.tid,
      changes = 0,
      statements = {},
   }, Connection)
   if code ~= OK then
      fail(connection, code)
   end
   connection:query(read(sysbench.opt.sqlite_configuration))
   return connection
end

return sqlite

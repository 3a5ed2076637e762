-- The plans of the statements of steps: printed, in place of being executed.
--
-- Steps are given a connection that asks for the plan of each statement once, with the values that
-- it was to be executed with, and executes none. For each it prints a line with the step and the
-- statement, and one for each row that the DBMS answered, its cells parted by tabs.

local ffi = require("ffi")

local explain = {}

-- Without costs and estimates, where the DBMS can leave them out. The form of MySQL is the one that
-- all releases have.
local COMMANDS = {
   pgsql = "EXPLAIN (COSTS OFF) ",
   mysql = "EXPLAIN FORMAT=TRADITIONAL ",
   sqlite = "EXPLAIN QUERY PLAN ",
}

-- Statements that have a plan.
local PLANNED = { SELECT = true, INSERT = true, UPDATE = true, DELETE = true }

-- A statement without its numbers, and with its lists of placeholders cut to one: what it has in
-- common with those of other tables and other values.
local function shape(text)
   return (text:gsub("%d+", "#"):gsub("%?[?,%s]*%?", "?"))
end

local function one_line(cell)
   return (tostring(cell or ""):gsub("%s+$", ""):gsub("[\t\r\n]", " "))
end

local Connection = {}
Connection.__index = Connection

-- Explains a statement of which `values` holds, in order, what its placeholders stand for.
local function ask(self, text, values)
   local form = shape(text)
   if not PLANNED[text:match("^%s*(%a+)")] or self.seen[form] then
      return
   end
   self.seen[form] = true
   local place = 0
   local whole = text:gsub("%?", function()
      place = place + 1
      return values[place]
   end)
   io.stdout:write(("nightshift plan dialect=%s step=%s statement=%s\n"):format(self.dialect, self.step, form))
   for _, row in ipairs(self.real:rows(COMMANDS[self.dialect] .. whole)) do
      local cells = {}
      for i = 1, row.n do
         cells[i] = one_line(row[i])
      end
      io.stdout:write("nightshift plan-row " .. table.concat(cells, "\t") .. "\n")
   end
end

local Statement = {}
Statement.__index = Statement

function Statement:randomise(i, template)
   self.texts[i] = template:gsub("#", "0"):gsub("@", "a")
end

function Statement:execute()
   local values, int, text = {}, 0, 0
   for place, kind in ipairs(self.kinds) do
      if kind == "int" then
         int = int + 1
         values[place] = ("%d"):format(self.ints[int][0])
      else
         text = text + 1
         values[place] = "'" .. self.texts[text] .. "'"
      end
   end
   ask(self.connection, self.text, values)
end

function Connection:prepare(text, kinds)
   local ints = {}
   for _, kind in ipairs(kinds) do
      if kind == "int" then
         ints[#ints + 1] = ffi.new("int32_t[1]")
      end
   end
   return setmetatable({ connection = self, text = text, kinds = kinds, ints = ints, texts = {} }, Statement)
end

function Connection:query(text)
   ask(self, text, {})
end

function Connection:numbers(text)
   return self.real:numbers(text)
end

-- As if every statement had found its row.
function Connection.affected()
   return 1
end

-- Prints the plans of the statements of steps. `names` is a list with commas; `build` makes, of a
-- connection and the name of a step, the function that executes its statements.
function explain.steps(real, names, build)
   for name in names:gmatch("[^,]+") do
      local connection = { dialect = real.dialect, real = real, step = name, seen = {} }
      build(setmetatable(connection, Connection), name)()
   end
   real:close()
end

return explain

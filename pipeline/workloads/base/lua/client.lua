-- One thread's view of the tables: its connection, its statements and its keys.
-- Steps are built from a client and keep what they need as upvalues, so that the
-- measured loop creates neither strings nor tables.

local Client = {}
Client.__index = Client

local client = {}

-- `count` times the placeholder of a prepared statement: "?,?,?".
function client.placeholders(count)
   return ("?,"):rep(count - 1) .. "?"
end

-- The kinds of `count` integer parameters, as connection:prepare wants them.
function client.ints(count)
   local kinds = {}
   for i = 1, count do
      kinds[i] = "int"
   end
   return kinds
end

-- The same statement prepared for every table; `text` has %d for the table's number.
function Client:per_table(text, kinds)
   local statements = {}
   for number = 1, self.tables do
      statements[number] = self.connection:prepare(text:format(number), kinds)
   end
   return statements
end

-- A function that returns a random one of `statements`, each table equally often.
function Client:any_of(statements)
   local count, uniform = self.tables, sysbench.rand.uniform
   if count == 1 then
      local only = statements[1]
      return function()
         return only
      end
   end
   return function()
      return statements[uniform(1, count)]
   end
end

-- A function that returns a random id (or k), uniform in 1..table_size.
function Client:uniform_id()
   local size, uniform = self.table_size, sysbench.rand.uniform
   return function()
      return uniform(1, size)
   end
end

function client.new(connection, options)
   return setmetatable({
      connection = connection,
      thread = sysbench.tid,
      tables = options.tables,
      table_size = options.table_size,
      range = options.range,
      zipf_exponent = options.zipf_exponent,
   }, Client)
end

return client

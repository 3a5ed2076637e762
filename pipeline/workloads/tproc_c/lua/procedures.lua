-- The five transactions as stored procedures, and how they are called.
--
-- In both dialects they take the same parameters in the same order: warehouse first. Where a
-- customer is 0, the one in the middle of all with the given last name is meant (clauses 2.5.2.2
-- and 2.6.2.2).

local procedures = {}

local TEXTS = { pgsql = "procedures_pgsql", mysql = "procedures_mysql" }

-- The statements that make the procedures.
function procedures.definitions(connection)
   return require(TEXTS[connection.dialect]).DEFINITIONS
end

function procedures.create(connection)
   for _, text in ipairs(procedures.definitions(connection)) do
      connection:query(text)
   end
end

-- Parameters in, each "int" or a text's length; and what comes out.
local SIGNATURES = {
   tproc_new_order = { { "int", "int", "int", "int", 210 }, { "order_id", "total", "order_lines" } },
   tproc_payment = { { "int", "int", "int", "int", "int", 16, "int" }, { "customer_id", "balance", "details" } },
   tproc_order_status = { { "int", "int", "int", 16 }, { "customer_id", "balance", "order_id", "order_lines" } },
   tproc_delivery = { { "int", "int" }, { "delivered" } },
   tproc_stock_level = { { "int", "int", "int" }, { "low_stock" } },
}

-- sysbench's drivers bind 64 bits for "int", and Postgres casts no argument to a shorter type.
local function pgsql(name, kinds)
   local casts = {}
   for i, kind in ipairs(kinds) do
      casts[i] = kind == "int" and "CAST(? AS INTEGER)" or "CAST(? AS TEXT)"
   end
   return { ("SELECT * FROM %s(%s)"):format(name, table.concat(casts, ", ")) }
end

-- A procedure that selects would answer with several results, of which sysbench's driver reads
-- one; so what comes out is put into variables of the session, and fetched from them.
local function mysql(name, kinds, results)
   local variables = "@" .. table.concat(results, ", @")
   return {
      ("CALL %s(%s, %s)"):format(name, ("?, "):rep(#kinds - 1) .. "?", variables),
      "SELECT " .. variables,
   }
end

local SPEAK = { pgsql = pgsql, mysql = mysql }

-- A function that calls the procedure `name` with its parameters, and reads what it returns.
function procedures.prepare(connection, name)
   local kinds, results = unpack(SIGNATURES[name])
   local texts = SPEAK[connection.dialect](name, kinds, results)
   local call = connection:prepare(texts[1], kinds)
   local fetch = texts[2] and connection:prepare(texts[2], {})
   local params = call.params
   return function(...)
      for i = 1, #kinds do
         params[i]:set((select(i, ...)))
      end
      call:execute()
      if fetch then
         fetch:execute()
      end
   end
end

return procedures

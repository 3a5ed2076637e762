-- The kinds of work of each step, and what a thread does that has one.
--
-- A thread has an event, to be repeated: one transaction or query, or a short wait where it is not
-- its turn. `amount` is how many operations the thread does in all; nil where time is the limit.

local clock = require("clock")
local pace = require("pace")
local queries = require("queries")
local queue = require("queue")
local rows = require("rows")
local schema = require("schema")
local tally = require("tally")

local kinds = {}

local BESIDE_QUERIES = { "queries", "inserts", "deletes" }
local STEPS = {
   ["l.i0"] = { "inserts" },
   ["l.x"] = { "indexes" },
   ["l.i1"] = { "inserts", "deletes" },
   ["l.i2"] = { "inserts", "deletes" },
   qr = BESIDE_QUERIES,
   qp = BESIDE_QUERIES,
}

-- Transactions that a client's inserter may be ahead of its deleter.
local LEAD = 10

local TURN_SECONDS = 1e-4

-- A step without its number of rows per second: "qr" for "qr100".
local function sort_of(step)
   return step:match("^(q%a)%d+$") or step
end

-- The names of the kinds of work of a step, one for each thread of a client.
function kinds.of(step)
   return STEPS[sort_of(step)] or error(("unknown --step '%s'"):format(step), 0)
end

local function wait_for_turn()
   clock.sleep_until(clock.now() + TURN_SECONDS)
   return false
end

-- How many rows of the load a thread has still to do, at most those of one transaction.
local function next_rows(owner)
   return math.min(sysbench.opt.rows_per_commit, sysbench.opt.rows - tally.ever(owner.thread, owner.kind))
end

-- Rows that a client's inserter has inserted and its deleter has not yet deleted others for.
local function ahead(owner)
   local threads = owner.threads
   return tally.ever(threads.inserts, "inserts") - tally.ever(threads.deletes, "deletes")
end

-- A function that says how many rows are to be done now; false, after a wait, if none.
local function turns(owner)
   local commit, thread, kind = sysbench.opt.rows_per_commit, owner.thread, owner.kind
   if owner.threads.queries then
      local interval = commit / sysbench.opt.rows_per_second
      return function()
         return pace.is_due(tally.done(thread, kind), interval) and commit
      end
   elseif kind == "deletes" then
      return function()
         local count = next_rows(owner)
         return ahead(owner) >= count and count or wait_for_turn()
      end
   elseif owner.threads.deletes then
      return function()
         return ahead(owner) < LEAD * commit and next_rows(owner) or wait_for_turn()
      end
   end
   return function()
      return next_rows(owner)
   end
end

-- Counts and times `work`, which returns how many operations it did.
local function record(owner, work, count)
   local begin = clock.now()
   local done = work(count)
   tally.record(owner.thread, owner.kind, done, clock.now() - begin)
end

-- An event that does so many rows as `turns` says.
local function rows_event(owner, work)
   local turn = turns(owner)
   return function()
      local count = turn()
      if count then
         record(owner, work, count)
      end
   end
end

local BUILD = {}

function BUILD.inserts(owner)
   return rows_event(owner, rows.inserter(owner.connection, owner.table)), sysbench.opt.rows
end

function BUILD.deletes(owner)
   return rows_event(owner, queue.deleter(owner.connection, owner.table)), sysbench.opt.rows
end

function BUILD.indexes(owner)
   local function add()
      schema.add_index(owner.connection, owner.table, tally.ever(owner.thread, "indexes") + 1)
      return 1
   end
   return function()
      record(owner, add)
   end, #schema.INDEXES
end

function BUILD.queries(owner)
   local ask = sort_of(sysbench.opt.step) == "qr" and queries.range(owner) or queries.point(owner)
   local function once()
      ask()
      return 1
   end
   return function()
      record(owner, once)
   end
end

-- What a thread does in this step, as { kind, event, amount }.
--
-- `owner` is the thread's view: its `connection`, `table`, `thread` and `kind`, and in `threads`
-- which threads do the client's other kinds of work.
function kinds.build(owner)
   local event, amount = BUILD[owner.kind](owner)
   return { kind = owner.kind, event = event, amount = not owner.threads.queries and amount or nil }
end

-- A function that does everything that a step does with the rows that are there, once, for the
-- first client: each of its queries, and a transaction that deletes.
function kinds.plans(connection, step)
   local names, work = kinds.of(step), {}
   tally.open(names, #names)
   for place, kind in ipairs(names) do
      local owner = kinds.owner(connection, place - 1, names)
      if kind == "deletes" then
         local delete = queue.deleter(connection, owner.table)
         work[place] = function()
            delete(sysbench.opt.rows_per_commit)
         end
      elseif kind == "queries" then
         work[place] = sort_of(step) == "qr" and queries.every_range(owner) or queries.point(owner)
      end
   end
   return function()
      for _, once in pairs(work) do
         once()
      end
   end
end

-- The view of a thread on a connection, in a step whose threads do these kinds of work.
function kinds.owner(connection, thread, names)
   local first = thread - thread % #names
   local threads = {}
   for place, kind in ipairs(names) do
      threads[kind] = first + place - 1
   end
   return {
      connection = connection,
      table = schema.table(first / #names + 1),
      thread = thread,
      kind = names[thread - first + 1],
      threads = threads,
   }
end

return kinds

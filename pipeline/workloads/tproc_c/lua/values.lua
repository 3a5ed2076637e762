-- Random values as TPC-C wants them. Clauses are those of its specification, revision 5.11.

local values = {}

local uniform, rand_string = sysbench.rand.uniform, sysbench.rand.string

local SYLLABLES = { [0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING" }

-- The last name of a number from 0 to 999 (clause 4.3.2.3).
function values.last_name(number)
   local hundreds, tens, ones = math.floor(number / 100), math.floor(number / 10) % 10, number % 10
   return SYLLABLES[hundreds] .. SYLLABLES[tens] .. SYLLABLES[ones]
end

-- How many different last names a district of so many customers has (clause 4.3.3.1).
function values.last_names(customers)
   return math.min(customers, 1000)
end

-- The constants C of NURand. Those of last names differ between load and run by what clause
-- 2.1.6.1 allows: 65 to 119, but neither 96 nor 112.
values.NAME_LOAD, values.NAME_RUN = 123, 223
local CUSTOMER, ITEM = 259, 7911

-- A number from x to y that is not evenly distributed (clause 2.1.6).
local function nurand(a, c, x, y)
   return (bit.bor(uniform(0, a), uniform(x, y)) + c) % (y - x + 1) + x
end

function values.name_number(c, customers)
   return nurand(255, c, 0, values.last_names(customers) - 1)
end

function values.customer(customers)
   return nurand(1023, CUSTOMER, 1, customers)
end

function values.item(items)
   return nurand(8191, ITEM, 1, items)
end

-- Letters, so many or from `least` to `most` (clause 4.3.2.2).
function values.letters(least, most)
   return rand_string(("@"):rep(most and uniform(least, most) or least))
end

function values.digits(count)
   return rand_string(("#"):rep(count))
end

-- Nine digits whose last five are ones (clause 4.3.2.7).
function values.zip()
   return values.digits(4) .. "11111"
end

-- 26 to 50 letters; one text in ten has ORIGINAL somewhere (clause 4.3.3.1).
function values.data()
   local text = values.letters(26, 50)
   if uniform(1, 10) > 1 then
      return text
   end
   local at = uniform(0, #text - 8)
   return text:sub(1, at) .. "ORIGINAL" .. text:sub(at + 9)
end

-- The numbers 1..count in random order.
function values.permutation(count)
   local order = {}
   for i = 1, count do
      local j = uniform(1, i)
      order[i] = order[j]
      order[j] = i
   end
   return order
end

return values

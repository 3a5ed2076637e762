-- Random keys. Uniform ones come from sysbench's own generator; zipfian ones are
-- made here, because sysbench 1.0.20 has no zipfian distribution.

local ffi = require("ffi")

local random = {}

-- The state of sysbench's xoroshiro128+ generator, one for each thread.
ffi.cdef [[
extern uint64_t sb_rng_state[2];
]]

-- Streams that must not share their numbers.
random.LOAD, random.WARMUP, random.MEASURE = 1, 2, 3

local function splitmix64(state)
   state = state + 0x9E3779B97F4A7C15ULL
   local z = state
   z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
   z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
   return bit.bxor(z, bit.rshift(z, 31)), state
end

-- Puts the calling thread's generator at the start of a stream that depends on
-- --rand-seed, `stream`, `member` (a thread or table number) and `label` only.
-- sysbench seeds its threads in the order in which they happen to start, and a
-- warm-up consumes as many numbers as the server is fast: without this, two
-- revisions would be asked for different keys. --rand-seed=0 keeps sysbench's
-- seeding from the clock.
function random.seed(stream, member, label)
   local seed = sysbench.opt.rand_seed
   if seed == 0 then
      return
   end
   local state = ffi.cast("uint64_t", seed) * 0x100000001B3ULL
   state = bit.bxor(state, ffi.cast("uint64_t", stream * 65536 + member))
   for i = 1, #label do
      state = bit.bxor(state, ffi.cast("uint64_t", label:byte(i))) * 0x100000001B3ULL
   end
   local first, second
   first, state = splitmix64(state)
   second = splitmix64(state)
   ffi.C.sb_rng_state[0] = first
   ffi.C.sb_rng_state[1] = second
end

local function greatest_common_divisor(a, b)
   while b ~= 0 do
      a, b = b, a % b
   end
   return a
end

-- A bijection of 1..n onto itself that puts neighbours far apart: multiplication
-- modulo n by a number near n / golden ratio that has no factor in common with n.
-- Hot zipfian ranks then fall on pages all over the table, not on its first one.
function random.scatter(n)
   local step = math.max(1, math.floor(n * 0.6180339887498949))
   while greatest_common_divisor(step, n) ~= 1 do
      step = step + 1
   end
   -- In two halves, so that no product exceeds the 2^53 that a double holds exactly.
   local high, low = math.floor(step / 65536), step % 65536
   return function(rank)
      return ((rank * high) % n * 65536 + rank * low) % n + 1
   end
end

-- (exp(x) - 1) / x and log(1 + x) / x, by their series where the quotient cancels.
local function expm1_over(x)
   if math.abs(x) > 1e-4 then
      return (math.exp(x) - 1) / x
   end
   return 1 + x / 2 * (1 + x / 3 * (1 + x / 4))
end

local function log1p_over(x)
   if math.abs(x) > 1e-4 then
      return math.log(1 + x) / x
   end
   return 1 - x * (1 / 2 - x * (1 / 3 - x / 4))
end

-- A function that returns ranks 1..n with probability proportional to
-- rank^-exponent, by rejection-inversion: W. Hoermann and G. Derflinger,
-- "Rejection-inversion to generate variates from monotone discrete
-- distributions", ACM TOMACS 6(3), 1996. It is exact for every exponent above
-- zero, needs no table of n entries and rejects less than one draw in four.
function random.zipf(n, exponent)
   local uniform = sysbench.rand.uniform_double
   local exp, log, floor = math.exp, math.log, math.floor

   local function integral(x)
      local log_x = log(x)
      return expm1_over((1 - exponent) * log_x) * log_x
   end

   local function density(x)
      return exp(-exponent * log(x))
   end

   local function inverse(x)
      local t = x * (1 - exponent)
      if t < -1 then
         t = -1 -- rounding only
      end
      return exp(log1p_over(t) * x)
   end

   local left = integral(1.5) - 1
   local right = integral(n + 0.5)
   local squeeze = 2 - inverse(integral(2.5) - density(2))

   return function()
      while true do
         local u = right + uniform() * (left - right)
         local x = inverse(u)
         local rank = floor(x + 0.5)
         if rank < 1 then
            rank = 1
         elseif rank > n then
            rank = n
         end
         if rank - x <= squeeze or u >= integral(rank + 0.5) - density(rank) then
            return rank
         end
      end
   end
end

return random

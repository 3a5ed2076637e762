-- What a row looks like: c and pad are random digits in groups of eleven,
-- joined by dashes, as in every published sysbench report.

local rows = {}

local GROUP = ("#"):rep(11)

local function groups(count)
   return (GROUP .. "-"):rep(count - 1) .. GROUP
end

-- Ten groups are 119 characters, the most that fit c char(120); five are 59, for
-- pad char(60). sysbench replaces every '#' by a random digit.
rows.C = groups(10)
rows.PAD = groups(5)

rows.C_LENGTH = 120
rows.PAD_LENGTH = 60

-- c and pad of one row as the end of a VALUES tuple: one call into sysbench's
-- generator a row instead of two, and no further string to build.
rows.LOAD_TAIL = ",'" .. rows.C .. "','" .. rows.PAD .. "')"

return rows

-- Script for wrk: requests the paths of a file one after the other. Each thread starts at another line.
-- Usage: wrk -s urls.lua URL -- FILE
local threads = 0
function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end
function init(arguments)
    requests = {}
    for path in io.lines(arguments[1]) do
        requests[#requests + 1] = wrk.format("GET", path)
    end
    at = number * 7919 % #requests
end
function request()
    at = at % #requests + 1
    return requests[at]
end

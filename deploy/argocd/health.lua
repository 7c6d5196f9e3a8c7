-- SPDX-License-Identifier: Apache-2.0
-- Health of Merlon's kinds for Argo CD. It reads the conditions that the control plane writes.

-- Reasons that resolve automatically when proxies have responded or workloads have started.
local waiting = {
  Waiting = true, NotConnected = true, NotStarted = true, NoWorkloads = true, FetchingKeys = true, TargetNotFound = true,
}

local function health(status, message)
  return { status = status, message = message or "" }
end

local status = obj.status
local generation = obj.metadata.generation
if status == nil or status.conditions == nil then
  return health("Progressing", "the control plane has not seen it yet")
end
if generation ~= nil and status.observedGeneration ~= generation then
  return health("Progressing", "the control plane has not seen this generation yet")
end

local found = {}
for _, condition in ipairs(status.conditions) do
  found[condition.type] = condition
end

local accepted = found.Accepted
if accepted ~= nil and accepted.status == "False" and not waiting[accepted.reason] then
  return health("Degraded", accepted.message)
end
-- An invariant does not wait for proxies: it holds or it does not.
local decisive = found.Ready
if obj.kind == "PolicyInvariant" then
  decisive = found.Holds
end
if decisive == nil then
  return health("Progressing", "the control plane has not decided yet")
end
if decisive.status == "True" then
  return health("Healthy", decisive.message)
end
if decisive.status == "Unknown" or waiting[decisive.reason] then
  return health("Progressing", decisive.message)
end
return health("Degraded", decisive.message)

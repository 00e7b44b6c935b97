local health = {status = "Progressing", message = "waiting for the operator"}
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health
end
for _, condition in ipairs(obj.status.conditions or {}) do
  if condition.type == "Stalled" and condition.status == "True" then
    return {status = "Degraded", message = condition.message}
  end
  if condition.type == "Ready" then
    health.message = condition.message
    if condition.status == "True" then
      health.status = "Healthy"
    elseif condition.reason == "Paused" then
      health.status = "Suspended"
    elseif condition.reason == "PodsNotReady" then
      health.status = "Degraded"
    end
  end
end
return health

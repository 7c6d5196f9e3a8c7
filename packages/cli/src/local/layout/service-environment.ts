// SPDX-License-Identifier: Apache-2.0
// The default Service for a program of a workload to call: the one of its namespace. A cluster sets variables with an
// address; here no address has all instances behind it, so the variable has the name.

import { SERVICES } from "./samples.js"

export function serviceEnvironment(mesh: string, namespace: string): NodeJS.ProcessEnv {
  const [service, ...others] = SERVICES.filter(sample => sample.namespace === namespace)
  if (service === undefined || others.length > 0) return {}
  const prefix = mesh.toUpperCase().replaceAll("-", "_")
  return { [`${prefix}_SERVICE_HOST`]: service.name, [`${prefix}_SERVICE_PORT`]: String(service.port) }
}

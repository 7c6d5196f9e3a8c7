// SPDX-License-Identifier: Apache-2.0
// The Service that a workload's program calls by default: the one in its namespace. A Kubernetes cluster sets variables
// with an address; here no single address reaches all instances, so the variable holds the host name.

import { SERVICES } from "./samples.js"

export function serviceEnvironment(mesh: string, namespace: string): NodeJS.ProcessEnv {
  const [service, ...others] = SERVICES.filter(sample => sample.namespace === namespace)
  if (service === undefined || others.length > 0) return {}
  const prefix = mesh.toUpperCase().replaceAll("-", "_")
  return { [`${prefix}_SERVICE_HOST`]: service.name, [`${prefix}_SERVICE_PORT`]: String(service.port) }
}

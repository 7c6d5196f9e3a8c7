// SPDX-License-Identifier: Apache-2.0
// Whom a program of a workload calls where nobody says: the Service of its namespace. A cluster tells by variables that
// hold an address; here there is none behind which every instance stands, so it is told by name.

import { SERVICES } from "./samples.js"

export function serviceEnvironment(mesh: string, namespace: string): NodeJS.ProcessEnv {
  const [service, ...others] = SERVICES.filter(sample => sample.namespace === namespace)
  if (service === undefined || others.length > 0) return {}
  const prefix = mesh.toUpperCase().replaceAll("-", "_")
  return { [`${prefix}_SERVICE_HOST`]: service.name, [`${prefix}_SERVICE_PORT`]: String(service.port) }
}

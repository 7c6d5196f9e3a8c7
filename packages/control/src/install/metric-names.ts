// SPDX-License-Identifier: Apache-2.0
// Metrics by the names under which a mesh has them: they begin with its word, in which a dash becomes an underscore.

export interface MetricNames {
  /** Of the control plane. */
  readonly control: (name: string) => string
  /** Of proxies. */
  readonly xserver: (name: string) => string
}

export function metricNames(mesh: string): MetricNames {
  const word = mesh.replaceAll("-", "_")
  return { control: name => `${word}_control_${name}`, xserver: name => `${word}_xserver_${name}` }
}

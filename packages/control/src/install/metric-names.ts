// SPDX-License-Identifier: Apache-2.0
// Metric names of a mesh: prefixed with the mesh's name, with dashes replaced by underscores.

export interface MetricNames {
  /** Metrics of the control plane. */
  readonly control: (name: string) => string
  /** Metrics of proxies. */
  readonly xserver: (name: string) => string
}

export function metricNames(mesh: string): MetricNames {
  const word = mesh.replaceAll("-", "_")
  return { control: name => `${word}_control_${name}`, xserver: name => `${word}_xserver_${name}` }
}

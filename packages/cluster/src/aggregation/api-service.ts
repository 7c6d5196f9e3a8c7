// SPDX-License-Identifier: Apache-2.0
// An aggregated API server that serves a group and version, as an APIService declares it.

export interface ApiService {
  readonly group: string
  readonly version: string
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number }
  /** PEM; without it no backend is trusted. */
  readonly caBundle: string
}

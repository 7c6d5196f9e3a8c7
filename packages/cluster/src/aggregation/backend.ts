// SPDX-License-Identifier: Apache-2.0
// Finds the address of an aggregated API server. There is no Service network here, so it is found by the name or the
// endpoints of its Service. Its certificate proves its identity, whatever the address.

import { Agent } from "node:https"
import { TLS_FLOOR } from "@merlon/wire/tls"
import type { Store } from "../store/store.js"
import { asArray, asObject, asString } from "../value.js"
import type { ApiService } from "./api-service.js"
import type { FrontProxyIdentity } from "./front-proxy.js"

export interface BackendTarget {
  readonly host: string
  readonly port: number
  readonly agent: Agent
}

export class BackendError extends Error {}

export class Backends {
  readonly #store: Store
  readonly #identity: FrontProxyIdentity
  /** Keyed by what is trusted: certificate authority and server name. */
  readonly #agents = new Map<string, { readonly trusts: string; readonly agent: Agent }>()

  constructor(store: Store, identity: FrontProxyIdentity) {
    this.#store = store
    this.#identity = identity
  }

  /** Throws `BackendError` if there is no endpoint to call. */
  async target(apiService: ApiService): Promise<BackendTarget> {
    const { service, caBundle } = apiService
    // Fail closed: any process at that address would learn the caller's identity, and its response would be trusted.
    if (caBundle === "") throw new BackendError("the APIService has no caBundle")
    const host = await this.#host(service.namespace, service.name)
    return { host, port: service.port, agent: this.#agent(apiService) }
  }

  close(): void {
    for (const { agent } of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  async #host(namespace: string, name: string): Promise<string> {
    const entry = await this.#store.get(`/registry/services/specs/${namespace}/${name}`)
    const spec = asObject(entry?.object.spec)
    const externalName = asString(spec.externalName)
    if (asString(spec.type) === "ExternalName" && externalName !== "") return externalName
    const endpoints = await this.#store.get(`/registry/services/endpoints/${namespace}/${name}`)
    for (const subset of asArray(endpoints?.object.subsets).map(asObject)) {
      for (const address of asArray(subset.addresses).map(asObject)) {
        const ip = asString(address.ip)
        if (ip !== "") return ip
      }
    }
    throw new BackendError(`the Service \`${namespace}/${name}\` is not there or has no endpoints`)
  }

  #agent({ group, version, service, caBundle }: ApiService): Agent {
    const key = `${group}/${version}`
    const servername = `${service.name}.${service.namespace}.svc`
    const trusts = `${servername} ${caBundle}`
    const known = this.#agents.get(key)
    if (known?.trusts === trusts) return known.agent
    known?.agent.destroy()
    const { certificate, key: privateKey } = this.#identity.credentials
    const agent = new Agent({
      ...TLS_FLOOR,
      ca: caBundle,
      cert: certificate,
      key: privateKey,
      servername,
      keepAlive: true,
      maxSockets: 256,
    })
    this.#agents.set(key, { trusts, agent })
    return agent
  }
}

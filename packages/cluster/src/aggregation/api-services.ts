// SPDX-License-Identifier: Apache-2.0
// The aggregated API servers: stored APIServices and the resources that each serves. Their resources are polled for
// discovery. A request is sent without an earlier check of availability.

import { request as httpsRequest } from "node:https"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { metaOf } from "../meta/object-meta.js"
import type { Store, StoreEvent, Watch } from "../store/store.js"
import { asArray, asObject, asString, dig, isObject, type JsonObject } from "../value.js"
import { parseJson } from "../wire/json.js"
import type { ApiService } from "./api-service.js"
import { Backends } from "./backend.js"
import type { FrontProxyIdentity } from "./front-proxy.js"

const PREFIX = "/registry/apiregistration.k8s.io/apiservices/"
const LOOK_AGAIN_MS = 30_000
const RETRY_MS = 1_000
const LIST_TIMEOUT_MS = 5_000
const MAX_DOCUMENT = 1 << 20

export class ApiServices {
  readonly backends: Backends
  readonly #store: Store
  readonly #identity: FrontProxyIdentity
  readonly #byKey = new Map<string, ApiService>()
  /** By group and version. */
  readonly #resources = new Map<string, readonly JsonObject[]>()
  #watch: Watch | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(store: Store, identity: FrontProxyIdentity) {
    this.#store = store
    this.#identity = identity
    this.backends = new Backends(store, identity)
  }

  async start(): Promise<void> {
    const { entries, revision } = await this.#store.range({ prefix: PREFIX })
    for (const { key, object } of entries) this.#set(key, object)
    this.#watch = this.#store.watch(PREFIX, revision, event => this.#changed(event))
    this.#look(0)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#watch?.close()
    clearTimeout(this.#timer)
    this.backends.close()
  }

  find(group: string, version: string): ApiService | undefined {
    for (const service of this.#byKey.values()) {
      if (service.group === group && service.version === version) return service
    }
    return undefined
  }

  groups(): ReadonlyMap<string, readonly string[]> {
    const groups = new Map<string, string[]>()
    for (const { group, version } of this.#byKey.values()) groups.set(group, [...(groups.get(group) ?? []), version])
    return groups
  }

  /** The resources in the backend's discovery document; empty until it has responded. */
  resources(group: string, version: string): readonly JsonObject[] {
    return this.#resources.get(`${group}/${version}`) ?? []
  }

  #changed({ key, entry }: StoreEvent): void {
    if (entry === undefined) this.#byKey.delete(key)
    else this.#set(key, entry.object)
    this.#look(0)
  }

  #set(key: string, object: JsonObject): void {
    const spec = asObject(object.spec)
    const { service } = spec
    // An APIService without a Service declares a group that this server serves itself.
    if (!isObject(service) || asString(metaOf(object).deletionTimestamp) !== "") {
      this.#byKey.delete(key)
      return
    }
    const port = Number(service.port ?? 443)
    this.#byKey.set(key, {
      group: asString(spec.group),
      version: asString(spec.version),
      service: { namespace: asString(service.namespace), name: asString(service.name), port: port || 443 },
      caBundle: Buffer.from(asString(spec.caBundle), "base64").toString(),
    })
  }

  #look(pause: number): void {
    clearTimeout(this.#timer)
    if (this.#closed || this.#byKey.size === 0) return
    this.#timer = setTimeout(() => void this.#ask(), pause).unref()
  }

  async #ask(): Promise<void> {
    let missing = false
    for (const service of [...this.#byKey.values()]) {
      const key = `${service.group}/${service.version}`
      try {
        this.#resources.set(key, await this.#list(service))
      } catch {
        // Keep last good: the resources stay listed, and requests for them get an error until the backend responds.
        missing ||= !this.#resources.has(key)
      }
    }
    this.#look(missing ? RETRY_MS : LOOK_AGAIN_MS)
  }

  async #list(service: ApiService): Promise<readonly JsonObject[]> {
    const target = await this.backends.target(service)
    const headers = this.#identity.headers({
      name: "system:kube-aggregator",
      uid: "",
      groups: ["system:masters"],
      extra: {},
    })
    const path = `/apis/${service.group}/${service.version}`
    const text = await new Promise<string>((resolve, reject) => {
      const asked = httpsRequest({
        ...TLS_FLOOR,
        ...target,
        path,
        headers: { ...headers, accept: "application/json" },
        // The timeout covers the whole response, because the other backends are polled after this one.
        signal: AbortSignal.timeout(LIST_TIMEOUT_MS),
      })
      asked.on("response", response => {
        const chunks: Buffer[] = []
        let size = 0
        response.on("data", (chunk: Buffer) => {
          size += chunk.length
          if (size > MAX_DOCUMENT) asked.destroy(new Error("the document is too large"))
          else chunks.push(chunk)
        })
        response.on("end", () =>
          response.statusCode === 200
            ? resolve(Buffer.concat(chunks).toString())
            : reject(new Error(`${response.statusCode}`)),
        )
        response.on("error", reject)
      })
      asked.on("error", reject)
      // An upgrade of the protocol emits no `response`, only `close`.
      asked.on("close", () => reject(new Error("no answer")))
      asked.end()
    })
    return asArray(dig(asObject(parseJson(text).value), "resources")).filter(isObject)
  }
}

// SPDX-License-Identifier: Apache-2.0
// OpenAPI versions 2 and 3 for all served resources. Documents are generated on request and cached until a CRD changes.
// The index contains their hashes, so that clients fetch only changed documents.

import { createHash } from "node:crypto"
import { groupVersions } from "../discovery/documents.js"
import type { Catalog } from "../registry/catalog.js"
import type { JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import { sharedParameters } from "./operations.js"
import { definitionsFor, groupVersionPaths, v2Paths } from "./paths.js"
import { encodeSwagger } from "./swagger-protobuf.js"

const INFO: JsonObject = { title: "Kubernetes", version: "v1.37.0" }

export class OpenApi {
  #generation = -1
  readonly #cache = new Map<string, unknown>()
  /** Documents of built-in groups never change. */
  readonly #builtin = new Map<string, JsonObject>()
  readonly #hashes = new WeakMap<JsonObject, string>()

  constructor(readonly catalog: Catalog) {}

  #cached<T>(key: string, make: () => T): T {
    if (this.#generation !== this.catalog.generation) {
      this.#cache.clear()
      this.#generation = this.catalog.generation
    }
    if (!this.#cache.has(key)) this.#cache.set(key, make())
    return this.#cache.get(key) as T
  }

  v2(): JsonObject {
    return this.#cached("v2", () => {
      const definitions = definitionsFor(this.catalog, undefined, "v2")
      return {
        swagger: "2.0",
        info: INFO,
        paths: v2Paths(this.catalog),
        definitions,
        parameters: sharedParameters(),
        securityDefinitions: {
          BearerToken: {
            description: "Bearer Token authentication",
            type: "apiKey",
            name: "authorization",
            in: "header",
          },
        },
        security: [{ BearerToken: [] }],
      }
    })
  }

  v2Protobuf(): Buffer {
    return this.#cached("v2-protobuf", () => encodeSwagger(this.v2()))
  }

  /** Path below /openapi/v3/, such as apis/apps/v1. */
  v3(path: string): JsonObject | undefined {
    if (path === "api/v1") return this.#groupVersion("", "v1")
    const match = /^apis\/([^/]+)\/([^/]+)$/.exec(path)
    if (match?.[1] !== undefined && match[2] !== undefined) {
      const [, group, version] = match
      return groupVersions(this.catalog).some(([g, v]) => g === group && v === version)
        ? this.#groupVersion(group, version)
        : undefined
    }
    if (!this.#otherPaths().includes(path)) return undefined
    return this.#cached(`v3 ${path}`, () => ({
      openapi: "3.0.0",
      info: INFO,
      paths: {
        [`/${path}/`]: {
          get: {
            description: `get ${path}`,
            operationId: path.replace(/[^a-zA-Z0-9]/g, ""),
            responses: { "200": { description: "OK" }, "401": { description: "Unauthorized" } },
          },
        },
      },
      components: { schemas: {} },
    }))
  }

  #groupVersion(group: string, version: string): JsonObject {
    const builtin = this.catalog.isBuiltinGroup(group)
    const key = `v3 ${group}/${version}`
    const known = this.#builtin.get(key)
    if (known !== undefined) return known
    const document = this.#cached(key, () => {
      const components: JsonObject = { schemas: definitionsFor(this.catalog, { group, version }, "v3") }
      if (builtin)
        components.securitySchemes = {
          BearerToken: {
            type: "apiKey",
            description: "Bearer Token authentication",
            name: "authorization",
            in: "header",
          },
        }
      return {
        openapi: "3.0.0",
        info: builtin ? INFO : { title: "Kubernetes CRD Swagger", version: "v0.1.0" },
        paths: groupVersionPaths(this.catalog, group, version),
        components,
      }
    })
    if (builtin) this.#builtin.set(key, document)
    return document
  }

  #hash(document: JsonObject): string {
    let hash = this.#hashes.get(document)
    if (hash === undefined) {
      hash = createHash("sha256").update(stringify(document)).digest("hex").toUpperCase()
      this.#hashes.set(document, hash)
    }
    return hash
  }

  #otherPaths(): string[] {
    const groups = [
      ...new Set(
        groupVersions(this.catalog)
          .filter(([group]) => this.catalog.isBuiltinGroup(group))
          .map(([group]) => `apis/${group}`),
      ),
    ]
    return [".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version", ...groups]
  }

  index(): JsonObject {
    return this.#cached("index", () => {
      const all = [
        "api/v1",
        ...groupVersions(this.catalog).map(([group, version]) => `apis/${group}/${version}`),
        ...this.#otherPaths(),
      ].sort()
      const paths = Object.fromEntries(
        all.map(path => {
          const hash = this.#hash(this.v3(path) ?? {})
          return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }]
        }),
      )
      return { paths }
    })
  }
}

// SPDX-License-Identifier: Apache-2.0
// Handlers of paths that are not resources: health, version, discovery, OpenAPI, the signing keys, metrics and
// compaction. Documents that clients cache have an ETag and support 304.

import { createHash } from "node:crypto"
import { ISSUER, type Tokens } from "../auth/tokens.js"
import {
  AGGREGATED,
  aggregated,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  groupVersions,
} from "../discovery/documents.js"
import { ApiError, methodNotAllowed, unknownResource } from "../meta/status.js"
import type { OpenApi } from "../openapi/documents.js"
import type { Catalog } from "../registry/catalog.js"
import type { Store } from "../store/store.js"
import type { JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import type { Exchange } from "./exchange.js"
import { ALL_MEDIA } from "./negotiate.js"

export interface PathServices {
  readonly catalog: Catalog
  readonly store: Store
  readonly tokens: Tokens
  readonly openapi: OpenApi
  readonly address: () => string
  readonly ready: () => boolean
  readonly metrics: () => string
}

const VERSION: JsonObject = {
  major: "1",
  minor: "37",
  emulationMajor: "1",
  emulationMinor: "37",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "36",
  gitVersion: "v1.37.0+merlon",
  gitCommit: "0000000000000000000000000000000000000000",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "none",
  compiler: "none",
  platform: `${process.platform}/${process.arch}`,
}
const HEALTH = ["ping", "log", "etcd"]
const TEXT = "text/plain; charset=utf-8"
const discoveryForms: ReadonlySet<string> = new Set(["APIGroupDiscoveryList.v2.apidiscovery.k8s.io"])
const OPENAPI_V2 = /application\/json|application\/\*|\*\/\*|v2[.@]v1\.0\+protobuf/
const OPENAPI_PROTO = /application\/com\.github\.(proto-openapi\.spec|googleapis\.openapi)\.v2[.@]v1\.0\+protobuf/

/** Returns false when the path does not exist. */
export async function handlePath(exchange: Exchange, services: PathServices): Promise<boolean> {
  const path = exchange.path.length > 1 ? exchange.path.replace(/\/+$/, "") : exchange.path
  const [, first = "", second = "", third = "", ...more] = path.split("/")
  if (first === "healthz" || first === "livez" || first === "readyz")
    return handleHealth(exchange, services, first, [second, third, ...more].filter(part => part !== "").join("/"))
  if (path === "/debug/compact" && exchange.method === "POST") {
    await services.store.compact(services.store.revision())
    exchange.sendText(200, "ok", TEXT)
    return true
  }
  if (path === "/metrics") {
    exchange.sendText(200, services.metrics(), "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
    return true
  }
  const document = documentOf(exchange, services, path, [first, second, third, ...more])
  if (document === undefined) return false
  const isHead = exchange.method === "HEAD" && first !== "version"
  if (exchange.method !== "GET" && !isHead && !takesAnyMethod(services.catalog, path)) throw methodNotAllowed()
  document()
  return true
}

/** Paths that kube-apiserver's aggregation, CRD and OpenAPI handlers serve without checking the method. */
function takesAnyMethod(catalog: Catalog, path: string): boolean {
  const [, first, group = "", version] = path.split("/")
  if (first === "apis") return version === undefined || !catalog.isBuiltinGroup(group)
  return first === "" || first === "openapi"
}

function handleHealth(exchange: Exchange, services: PathServices, endpoint: string, check: string): boolean {
  if (check !== "" && !HEALTH.includes(check)) return false
  const healthy = endpoint !== "readyz" || services.ready()
  const status = healthy ? 200 : 500
  if (check !== "" || !exchange.query.has("verbose")) exchange.sendText(status, healthy ? "ok" : "not ok", TEXT)
  else
    exchange.sendText(
      status,
      `${HEALTH.map(name => `[+]${name} ok\n`).join("")}${endpoint} check ${healthy ? "passed" : "failed"}\n`,
      TEXT,
    )
  return true
}

function documentOf(
  exchange: Exchange,
  services: PathServices,
  path: string,
  parts: readonly string[],
): (() => void) | undefined {
  const { catalog } = services
  const [first, second = "", third = "", fourth = ""] = parts
  const plain = (body: JsonObject) => (): void => exchange.send(200, body, exchange.accept(new Set(), ALL_MEDIA, true))
  const cached =
    (body: () => JsonObject, type = "application/json") =>
    (): void =>
      sendCached(exchange, body(), type)
  if (path === "/") return () => exchange.send(200, { paths: allPaths(catalog) })
  if (path === "/version") return plain(VERSION)
  if (path === "/api" || path === "/apis") {
    const legacy = path === "/api"
    return () => {
      const accepted = exchange.accept(discoveryForms, ALL_MEDIA, true)
      if (accepted.as !== undefined) sendCached(exchange, aggregated(catalog, legacy), AGGREGATED)
      else exchange.send(200, legacy ? apiVersions(services.address()) : apiGroupList(catalog), accepted)
    }
  }
  if (first === "api" && third === "" && second !== "") {
    const resources = apiResourceList(catalog, "", second)
    if (resources === undefined) throw unknownResource()
    return plain(resources)
  }
  if (first === "apis" && third === "") {
    const group = apiGroup(catalog, second)
    return group === undefined ? undefined : plain(group)
  }
  if (first === "apis" && fourth === "") {
    const resources = apiResourceList(catalog, second, third)
    if (resources !== undefined) return plain(resources)
    if (!catalog.isBuiltinGroup(second)) return undefined
    throw unknownResource()
  }
  if (path === "/openapi/v2") return () => sendOpenApiV2(exchange, services)
  if (path === "/openapi/v3") return cached(() => services.openapi.index(), TEXT)
  if (path.startsWith("/openapi/v3/")) {
    const found = services.openapi.v3(path.slice("/openapi/v3/".length))
    if (found !== undefined) return cached(() => found)
    return () => {
      exchange.response.statusCode = 404
      exchange.response.end()
    }
  }
  if (path === "/.well-known/openid-configuration")
    return plain({
      issuer: ISSUER,
      jwks_uri: `https://${services.address()}/openid/v1/jwks`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [services.tokens.algorithm],
    })
  if (path === "/openid/v1/jwks")
    return () => {
      const accept = exchange.request.headers.accept ?? "*/*"
      if (!/application\/jwk-set\+json|\*\/\*/.test(accept))
        throw new ApiError(
          406,
          "NotAcceptable",
          "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json",
          {},
        )
      exchange.sendText(200, stringify(services.tokens.publicJwks()), "application/jwk-set+json")
    }
  return undefined
}

function sendOpenApiV2(exchange: Exchange, services: PathServices): void {
  const accept = exchange.request.headers.accept ?? "*/*"
  if (!OPENAPI_V2.test(accept)) {
    exchange.response.statusCode = 406
    exchange.response.end()
    return
  }
  if (OPENAPI_PROTO.test(accept)) {
    const bytes = services.openapi.v2Protobuf()
    if (!fresh(exchange, bytes))
      exchange.sendText(200, bytes, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
    return
  }
  sendCached(exchange, services.openapi.v2(), "application/json")
}

/** Sends 304 and returns true when the client already has these bytes. */
function fresh(exchange: Exchange, bytes: Buffer): boolean {
  const etag = `"${createHash("sha256").update(bytes).digest("hex").toUpperCase()}"`
  exchange.response.setHeader("Etag", etag)
  exchange.response.setHeader("Vary", "Accept")
  if (exchange.request.headers["if-none-match"] !== etag) return false
  exchange.response.statusCode = 304
  exchange.response.end()
  return true
}

const encoded = new WeakMap<JsonObject, Buffer>()

function sendCached(exchange: Exchange, body: JsonObject, contentType: string): void {
  let bytes = encoded.get(body)
  if (bytes === undefined) {
    bytes = Buffer.from(stringify(body))
    encoded.set(body, bytes)
  }
  if (!fresh(exchange, bytes)) exchange.sendText(200, bytes, contentType)
}

function allPaths(catalog: Catalog): string[] {
  const paths = [
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/openid/v1/jwks",
    "/readyz",
    "/version",
  ]
  for (const name of HEALTH) for (const endpoint of ["healthz", "livez", "readyz"]) paths.push(`/${endpoint}/${name}`)
  for (const [group, version] of groupVersions(catalog)) paths.push(`/apis/${group}`, `/apis/${group}/${version}`)
  return [...new Set(paths)].sort()
}

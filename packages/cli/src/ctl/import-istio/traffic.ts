// SPDX-License-Identifier: Apache-2.0
// How callers treat a host, from VirtualService routes and DestinationRules to the fields of a MeshService: time limits,
// retries, balancing, limits and ejection. The validator of MeshServices decides what Merlon accepts: a field that it rejects
// is left out, and the reason is listed.

import type { MeshNames } from "@merlon/policy/mesh"
import { RETRY_CONDITIONS, validate } from "@merlon/policy/resources"
import { type Fields, fieldsOf, textOf } from "../foreign.js"

type Lost = (message: string) => void

const MODES: { readonly [mode: string]: string } = { ISTIO_MUTUAL: "DUBBO_MUTUAL", DISABLE: "DISABLE" }
/** Istio's default for a route with `retries` without `retryOn`. Merlon's default would retry more. */
const ISTIO_RETRY_ON = "connect-failure,refused-stream,unavailable,cancelled"
/** Values that mean the same as an absent field in Istio, and something else or nothing in a MeshService. */
const UNSET: { readonly [field: string]: unknown } = {
  simple: "UNSPECIFIED",
  maxConnections: 0,
  http1MaxPendingRequests: 0,
  http2MaxRequests: 0,
  maxRetries: 0,
  h2UpgradePolicy: "DEFAULT",
  useClientProtocol: false,
  maxEjectionPercent: 0,
  splitExternalLocalOriginErrors: false,
}
const STATUS = /^[1-5]\d\d$/
const ROUTES = [{ service: [{ host: "any" }] }]

/** `timeout` and `retries` of a route. `path` names the route in messages. */
export function routeTraffic(route: Fields, path: string, names: MeshNames, lost: Lost): Fields {
  const timeout = route.timeout === undefined ? {} : { timeout: route.timeout }
  const retries = route.retries === undefined ? {} : { retries: retriesOf(fieldsOf(route.retries), path, lost) }
  return accepted({ ...timeout, ...retries }, path, names, lost)
}

/** A `trafficPolicy` of a DestinationRule or of one of its subsets. `path` is where it is. */
export function trafficPolicyOf(written: Fields, path: string, names: MeshNames, lost: Lost): Fields {
  const { tls, loadBalancer, connectionPool, ...others } = withoutUnset(written)
  const mode = tls === undefined ? undefined : tlsMode(fieldsOf(tls), path, lost)
  const pool = fieldsOf(connectionPool)
  const policy = {
    ...(mode === undefined ? {} : { tls: { mode } }),
    ...(loadBalancer === undefined ? {} : { loadBalancer: balancer(fieldsOf(loadBalancer)) }),
    ...(connectionPool === undefined
      ? {}
      : { connectionPool: { ...pool, ...sections(pool, ["tcp", "http"], withoutUnset) } }),
    ...others,
    ...sections(others, ["outlierDetection"], withoutUnset),
  }
  const kept = fieldsOf(
    accepted({ trafficPolicy: policy }, path.replace(/\.?trafficPolicy$/, ""), names, lost).trafficPolicy,
  )
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => Object.keys(fieldsOf(value)).length > 0))
}

function tlsMode({ mode, ...others }: Fields, path: string, lost: Lost): string | undefined {
  for (const field of Object.keys(others))
    lost(`\`${path}.tls.${field}\` has no counterpart: servers prove the identities that the mesh expects`)
  const written = textOf(mode) ?? "DISABLE"
  if (MODES[written] === undefined)
    lost(`the TLS mode \`${written}\` has no counterpart; callers decide by the destination's own`)
  return MODES[written]
}

function balancer(written: Fields): Fields {
  const { simple, ...others } = withoutUnset(written)
  if (simple === undefined) return others
  return { ...others, simple: simple === "LEAST_CONN" ? "LEAST_REQUEST" : simple }
}

/** Istio retries every method, so `retryNonIdempotent` is set; without `attempts`, it retries nothing. */
function retriesOf({ attempts = 0, retryOn, ...others }: Fields, path: string, lost: Lost): Fields {
  if (attempts === 0) return { attempts }
  const written = (textOf(retryOn) || ISTIO_RETRY_ON).split(",").map(condition => condition.trim())
  const known = written.filter(one => STATUS.test(one) || RETRY_CONDITIONS.some(condition => condition === one))
  // Status codes in the list are retried without this word.
  for (const one of written.filter(each => !known.includes(each) && each !== "retriable-status-codes"))
    lost(`\`${path}.retries.retryOn\`: the condition \`${one}\` has no counterpart and is left out`)
  if (known.length === 0) return { attempts: 0 }
  return { attempts, retryOn: known.join(","), retryNonIdempotent: true, ...others }
}

/** The fields that a MeshService accepts. `path` is the path of its `spec` in the original. */
function accepted(fields: Fields, path: string, names: MeshNames, lost: Lost): Fields {
  const { errors } = validate(
    {
      apiVersion: `${names.networkingGroup}/${names.version}`,
      kind: "MeshService",
      metadata: { name: "any", namespace: "any" },
      spec: { hosts: ["any"], routes: ROUTES, ...fields },
    },
    names,
  )
  let kept = fields
  for (const { at, path: place, problem, fix } of errors) {
    lost(`\`${path === "" ? "" : `${path}.`}${place.replace(/^spec\./, "")}\` is left out: ${problem}; ${fix}`)
    kept = withoutField(kept, partOf(at.slice(1)))
  }
  return kept
}

/** The part to omit: retries without a valid number or valid conditions would be other retries. */
function partOf(at: readonly (string | number)[]): readonly (string | number)[] {
  return at[0] === "retries" && (at[1] === "attempts" || at[1] === "retryOn") ? ["retries"] : at
}

function withoutField(fields: Fields, [name = "", ...rest]: readonly (string | number)[]): Fields {
  if (!Object.hasOwn(fields, name)) return fields
  const { [name]: value, ...others } = fields
  return rest.length === 0 ? others : { ...others, [name]: withoutField(fieldsOf(value), rest) }
}

function withoutUnset(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => UNSET[name] !== value))
}

function sections(fields: Fields, names: readonly string[], change: (section: Fields) => Fields): Fields {
  return Object.fromEntries(
    names.filter(name => fields[name] !== undefined).map(name => [name, change(fieldsOf(fields[name]))]),
  )
}

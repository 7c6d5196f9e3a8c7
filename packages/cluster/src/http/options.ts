// SPDX-License-Identifier: Apache-2.0
// Options of writes from the query: dry run, field manager, field validation, force. Each verb has its own kind of
// options, which error messages name.

import type { IncomingMessage } from "node:http"
import type { DeleteOptions } from "../kinds/behaviour.js"
import { type FieldError, forbidden, invalid, notSupported, required, tooLong } from "../meta/field-error.js"
import { badRequest, invalidError } from "../meta/status.js"
import { isTrue } from "../registry/list-options.js"
import { asObject, asString, dig, isNumber, isObject, type JsonObject } from "../value.js"

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: "Strict" | "Warn" | "Ignore"
  readonly force: boolean
  /** The options object that webhooks receive. */
  readonly document: JsonObject
}

const MAX_MANAGER = 128

function managerErrors(manager: string): FieldError[] {
  if (Buffer.byteLength(manager) > MAX_MANAGER) return [tooLong("fieldManager", MAX_MANAGER)]
  let at = 0
  for (const c of manager) {
    const code = c.codePointAt(0) ?? 0
    if (code < 32 || code === 127 || (code >= 0x80 && code < 0xa0))
      return [
        invalid(
          "fieldManager",
          manager,
          `invalid character U+${code.toString(16).toUpperCase().padStart(4, "0")} (at position ${at})`,
        ),
      ]
    at += Buffer.byteLength(c)
  }
  return []
}

export function writeOptions(
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  query: URLSearchParams,
  request: IncomingMessage,
  apply: boolean,
): WriteOptions {
  const errors: FieldError[] = []
  const dryRun = query.getAll("dryRun").filter(value => value !== "")
  const force = query.get("force")
  const manager = query.get("fieldManager") ?? ""
  const validation = query.get("fieldValidation") ?? ""
  if (kind === "PatchOptions" && !apply && force !== null)
    errors.push(forbidden("force", "may not be specified for non-apply patch"))
  if (apply && manager === "") errors.push(required("fieldManager", "is required for apply patch"))
  errors.push(...managerErrors(manager))
  if (dryRun.some(value => value !== "All")) errors.push(notSupported("dryRun", dryRun, ["All"]))
  if (!["", "Ignore", "Strict", "Warn"].includes(validation))
    errors.push(notSupported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
  if (errors.length > 0) throw invalidError({ group: "meta.k8s.io", resource: kind }, "", errors)
  const document: JsonObject = { kind, apiVersion: "meta.k8s.io/v1" }
  if (dryRun.length > 0) document.dryRun = ["All"]
  if (apply && force !== null) document.force = isTrue(force)
  if (manager !== "") document.fieldManager = manager
  if (validation !== "") document.fieldValidation = validation
  return {
    dryRun: dryRun.length > 0,
    fieldManager: manager === "" ? agentName(request) : manager,
    fieldValidation: validation === "Strict" || validation === "Ignore" ? validation : "Warn",
    force: isTrue(force),
    document,
  }
}

function agentName(request: IncomingMessage): string {
  const agent = request.headers["user-agent"] ?? ""
  return (agent.split("/")[0] ?? "").slice(0, MAX_MANAGER) || "unknown"
}

const POLICIES = ["Foreground", "Background", "Orphan"]

/** Reads the options from the body if there is one, otherwise from the query. */
export function deleteOptions(
  body: JsonObject | undefined,
  query: URLSearchParams,
): { options: DeleteOptions; dryRun: boolean; document: JsonObject } {
  const source: JsonObject = body ?? fromQuery(query)
  const errors: FieldError[] = []
  const policy = source.propagationPolicy
  if (policy !== undefined && policy !== null && typeof source.orphanDependents === "boolean")
    errors.push(
      invalid("propagationPolicy", asString(policy), "orphanDependents and deletionPropagation cannot be both set"),
    )
  else if (policy !== undefined && policy !== null && !POLICIES.includes(asString(policy)))
    errors.push(notSupported("propagationPolicy", asString(policy), [...POLICIES, "nil"]))
  const dryRun = Array.isArray(source.dryRun) ? source.dryRun.map(asString) : []
  if (dryRun.some(value => value !== "All")) errors.push(notSupported("dryRun", dryRun, ["All"]))
  if (errors.length > 0) throw invalidError({ group: "meta.k8s.io", resource: "DeleteOptions" }, "", errors)
  const options: { -readonly [K in keyof DeleteOptions]: DeleteOptions[K] } = {}
  if (isNumber(source.gracePeriodSeconds)) options.gracePeriodSeconds = Number(source.gracePeriodSeconds)
  if (typeof policy === "string") options.propagationPolicy = policy
  if (typeof source.orphanDependents === "boolean") options.orphanDependents = source.orphanDependents
  if (isObject(source.preconditions)) {
    const uid = dig(source, "preconditions", "uid")
    const version = dig(source, "preconditions", "resourceVersion")
    options.preconditions = {
      ...(typeof uid === "string" ? { uid } : {}),
      ...(typeof version === "string" ? { resourceVersion: version } : {}),
    }
  }
  const { kind: _k, apiVersion: _a, ...rest } = asObject(source)
  return {
    options,
    dryRun: dryRun.length > 0,
    document: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...rest },
  }
}

function fromQuery(query: URLSearchParams): JsonObject {
  const out: JsonObject = {}
  const grace = query.get("gracePeriodSeconds")
  if (grace !== null && grace !== "") {
    if (!/^-?\d+$/.test(grace)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`)
    out.gracePeriodSeconds = Number(grace)
  }
  const policy = query.get("propagationPolicy")
  if (policy !== null && policy !== "") out.propagationPolicy = policy
  const orphan = query.get("orphanDependents")
  if (orphan !== null && orphan !== "") out.orphanDependents = isTrue(orphan)
  const dryRun = query.getAll("dryRun").filter(value => value !== "")
  if (dryRun.length > 0) out.dryRun = dryRun
  return out
}

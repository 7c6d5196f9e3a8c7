// SPDX-License-Identifier: Apache-2.0
//
// Options of lists and watches, read from the query and validated like Kubernetes' ListOptions.

import { type FieldError, forbidden, notSupported } from "../meta/field-error.js"
import { badRequest, invalidError } from "../meta/status.js"
import { type FieldSelector, parseFieldSelector } from "../selectors/field.js"
import { type LabelSelector, parseLabelSelector, SelectorError } from "../selectors/label.js"
import type { Kind } from "./kind.js"

export interface ListOptions {
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  readonly limit: number
  readonly continue: string
  readonly resourceVersion: string
  readonly resourceVersionMatch: string
  readonly watch: boolean
  readonly allowWatchBookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
  readonly timeoutSeconds: number | undefined
}

export function isTrue(value: string | null): boolean {
  return value !== null && value !== "false" && value !== "0"
}

export function parseListOptions(query: URLSearchParams, kind: Kind, forceWatch = false): ListOptions {
  let labels: LabelSelector
  let fields: FieldSelector
  try {
    labels = parseLabelSelector(query.get("labelSelector") ?? "")
    fields = parseFieldSelector(query.get("fieldSelector") ?? "")
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message)
    throw error
  }
  for (const { path } of fields) if (!kind.selectable(path)) throw badRequest(kind.unsupportedField(path))
  const send = query.get("sendInitialEvents")
  const timeout = query.get("timeoutSeconds")
  const options: ListOptions = {
    labels,
    fields,
    limit: Math.max(0, integer(query, "limit")),
    continue: query.get("continue") ?? "",
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    watch: forceWatch || isTrue(query.get("watch")),
    allowWatchBookmarks: isTrue(query.get("allowWatchBookmarks")),
    sendInitialEvents: send === null ? undefined : isTrue(send),
    timeoutSeconds: timeout === null || timeout === "" ? undefined : integer(query, "timeoutSeconds"),
  }
  const errors = options.watch ? watchErrors(options) : listErrors(options)
  if (errors.length > 0) throw invalidError({ group: "meta.k8s.io", resource: "ListOptions" }, "", errors)
  return options
}

function integer(query: URLSearchParams, key: string): number {
  const text = query.get(key)
  if (text === null || text === "") return 0
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(text)
}

const MATCH = "resourceVersionMatch"

function listErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = []
  const match = options.resourceVersionMatch
  if (options.sendInitialEvents !== undefined)
    errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
  if (match === "") return errors
  if (options.resourceVersion === "")
    errors.push(forbidden(MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
  if (options.continue !== "")
    errors.push(forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"))
  if (match !== "Exact" && match !== "NotOlderThan")
    errors.push(notSupported(MATCH, match, ["Exact", "NotOlderThan", ""]))
  if (match === "Exact" && options.resourceVersion === "0")
    errors.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
  return errors
}

function watchErrors(options: ListOptions): FieldError[] {
  const match = options.resourceVersionMatch
  if (options.sendInitialEvents === undefined)
    return match === ""
      ? []
      : [forbidden(MATCH, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")]
  const errors: FieldError[] = []
  if (match !== "NotOlderThan")
    errors.push(forbidden(MATCH, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
  if (match !== "" && match !== "NotOlderThan") errors.push(notSupported(MATCH, match, ["NotOlderThan"]))
  return errors
}

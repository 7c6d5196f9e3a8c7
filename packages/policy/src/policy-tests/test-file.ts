// SPDX-License-Identifier: Apache-2.0
// Policy tests as people write them beside their policies: YAML documents of kind `PolicyTest`. Parsing is strict,
// because a misspelt expectation that is silently ignored is worse than none.

import { meshNames } from "../mesh/names.js"
import type { Claim } from "../request/attributes.js"
import { type DocumentError, shown } from "../resources/document-error.js"
import { Field, isObject, Report } from "../resources/field.js"
import { listItems } from "../resources/list-items.js"
import type { PolicyInvariantSpec } from "../resources/policy-invariant/definition.js"
import { isPolicyTest } from "../resources/policy-test.js"
import { validate } from "../resources/validate.js"
import { parseYaml } from "../resources/yaml-text.js"
import type { Workload } from "../selection/workload.js"
import { nearest } from "../shape/nearest.js"
import type { DescribedRequest, DescribedToken } from "../trial/described-request.js"
import type { Answer } from "../trial/trial.js"

export interface PolicyTestFile {
  readonly name: string
  /** Files and folders with the policies, relative to this one. */
  readonly policies: readonly string[]
  /** Policies written into the file itself, not yet validated. */
  readonly documents: readonly unknown[]
  readonly workloads: ReadonlyMap<string, Workload>
  readonly mesh: { readonly [setting: string]: unknown }
  readonly cases: readonly PolicyTestCase[]
  /** Invariants of every workload of the file, in the form of a PolicyInvariant. */
  readonly invariants: Pick<PolicyInvariantSpec, "never" | "always">
}

export interface PolicyTestCase {
  readonly name: string
  readonly workload: Workload
  readonly request: DescribedRequest
  readonly expect: Expectation
}

export interface Expectation {
  readonly verdict?: Answer["verdict"]
  /** The status of the reply; 0 if the connection is closed without one. */
  readonly status?: number
  readonly stage?: string
  /** The rule that must have decided: `name[0]`, or `namespace/name[0]`. */
  readonly rule?: string
  /** The expected body of the denial. */
  readonly body?: string
}

export interface ReadTests {
  readonly files: readonly PolicyTestFile[]
  readonly errors: readonly DocumentError[]
}

/** Skips documents of other kinds: tests may be in the same file as the policies. */
export function readTests(text: string): ReadTests {
  const files: PolicyTestFile[] = []
  const errors: DocumentError[] = []
  for (const document of parseYaml(text)) {
    errors.push(...document.errors)
    for (const { value, at } of listItems(document.value)) {
      if (!isPolicyTest(value)) continue
      const report = new Report()
      files.push(readFile(new Field(value, [], report)))
      const place = (error: DocumentError): DocumentError => ({
        ...error,
        position: document.locate([...at, ...error.at], "value"),
      })
      errors.push(...report.errors.map(place))
    }
  }
  return { files, errors }
}

const known = (field: Field, names: readonly string[]): void => {
  for (const [name, value] of field.entries) {
    if (names.includes(name)) continue
    const near = nearest(name, names)
    value.error(
      "unknown-field",
      `unknown field \`${shown(name)}\``,
      near === undefined ? `known here are ${names.map(n => `\`${n}\``).join(", ")}` : `did you mean \`${near}\`?`,
    )
  }
}

function readFile(file: Field): PolicyTestFile {
  known(file, [
    "apiVersion",
    "kind",
    "metadata",
    "policies",
    "documents",
    "workloads",
    "mesh",
    "cases",
    "never",
    "always",
  ])
  const workloads = new Map(file.field("workloads").entries.map(([name, field]) => [name, readWorkload(name, field)]))
  const cases = file.field("cases")
  const invariants = readInvariants(file)
  const stated = file.field("never").present || file.field("always").present
  if (cases.items.length === 0 && !stated)
    cases.error("missing-field", "there are no cases", "add `cases: [{request, expect}]`")
  return {
    name: file.field("metadata").field("name").text ?? "",
    policies: file.field("policies").items.flatMap(({ text }) => text ?? []),
    documents: file.field("documents").items.map(({ value }) => value),
    workloads,
    mesh: objectOf(file.field("mesh")),
    cases: cases.items.map((item, index) => readCase(item, index, workloads)),
    invariants,
  }
}

/** Has the format and the checks of a PolicyInvariant. */
function readInvariants(file: Field): PolicyTestFile["invariants"] {
  const [never, always] = [file.field("never"), file.field("always")]
  if (!never.present && !always.present) return {}
  const names = meshNames()
  const spec = {
    ...(never.present ? { never: never.value } : {}),
    ...(always.present ? { always: always.value } : {}),
  }
  const { document, errors } = validate(
    {
      apiVersion: `${names.securityGroup}/${names.version}`,
      kind: "PolicyInvariant",
      metadata: { name: "invariants", namespace: "default" },
      spec,
    },
    names,
  )
  for (const { at, code, problem, fix } of errors) {
    let place = file
    for (const step of at.slice(1)) place = typeof step === "number" ? (place.items[step] ?? place) : place.field(step)
    place.error(code, problem, fix)
  }
  return document?.kind === "PolicyInvariant" ? document.spec : {}
}

function readWorkload(name: string, field: Field): Workload {
  known(field, ["namespace", "labels", "services"])
  const labels = Object.fromEntries(field.field("labels").entries.map(([key, { text }]) => [key, text ?? ""]))
  const services = field.field("services").items.flatMap(({ text }) => text ?? [])
  return { namespace: field.field("namespace").text ?? "default", name, labels, services }
}

function readCase(item: Field, index: number, workloads: ReadonlyMap<string, Workload>): PolicyTestCase {
  known(item, ["name", "to", "request", "expect"])
  const request = readRequest(item.field("request"))
  const expect = readExpectation(item.field("expect"))
  const name = item.field("name").text ?? describeRequest(request)
  return {
    name: name === "" ? `case ${index}` : name,
    workload: workloadOf(item.field("to"), workloads),
    request,
    expect,
  }
}

function workloadOf(to: Field, workloads: ReadonlyMap<string, Workload>): Workload {
  const [only] = workloads.values()
  const named = to.text === undefined ? (workloads.size === 1 ? only : undefined) : workloads.get(to.text)
  if (named !== undefined) return named
  const names = [...workloads.keys()]
  if (to.text === undefined) {
    to.error(
      "missing-field",
      "the workload is not named",
      `write \`to:\` with one of ${names.join(", ") || "`workloads`"}`,
    )
  } else {
    to.error(
      "unknown-value",
      `there is no workload \`${shown(to.text)}\``,
      `\`workloads\` has ${names.join(", ") || "none"}`,
    )
  }
  return { namespace: "default", name: "unknown", labels: {} }
}

export function readRequest(field: Field): DescribedRequest {
  known(field, ["protocol", "from", "ip", "destinationIp", "port", "sni", "method", "path", "host", "headers", "token"])
  const text = (name: string): string | undefined => {
    const inner = field.field(name)
    if (inner.present && inner.text === undefined) inner.error("wrong-type", `\`${name}\` must be text`, "quote it")
    return inner.text
  }
  const protocol = text("protocol")
  if (protocol !== undefined && protocol !== "http" && protocol !== "tcp") {
    field.field("protocol").error("unknown-value", `unknown protocol \`${shown(protocol)}\``, "write `http` or `tcp`")
  }
  const port = field.field("port")
  if (port.present && typeof port.value !== "number")
    port.error("wrong-type", "`port` must be a number", "write `8080`")
  const host = field.field("host")
  const token = readToken(field.field("token"))
  return definedOnly<DescribedRequest>({
    protocol: protocol === "tcp" ? "tcp" : undefined,
    from: text("from"),
    ip: text("ip"),
    destinationIp: text("destinationIp"),
    port: typeof port.value === "number" ? port.value : undefined,
    sni: text("sni"),
    method: text("method"),
    path: text("path"),
    host: host.value === null ? null : text("host"),
    headers: readHeaders(field.field("headers")),
    token,
  })
}

function readHeaders(field: Field): DescribedRequest["headers"] {
  if (!field.present) return undefined
  return Object.fromEntries(
    field.entries.map(([name, { value, text }]) => [
      name,
      Array.isArray(value) ? value.map(String) : (text ?? String(value)),
    ]),
  )
}

const TOKEN_FIELDS = ["claims", "expired", "forged", "header", "prefix", "param", "cookie"]

function readToken(field: Field): DescribedToken | string | undefined {
  if (!field.present) return undefined
  if (field.text !== undefined) return field.text
  known(field, TOKEN_FIELDS)
  const flag = (name: string) => (field.field(name).value === true ? true : undefined)
  return definedOnly<DescribedToken>({
    claims: objectOf(field.field("claims")),
    expired: flag("expired"),
    forged: flag("forged"),
    header: field.field("header").text,
    prefix: field.field("prefix").text,
    param: field.field("param").text,
    cookie: field.field("cookie").text,
  })
}

const EXPECTED =
  "write `allow`, `deny`, `depends`, `closed`, a status, or an object with `verdict`, `status`, `stage`, `rule`, `body`"

/** `refuse` is the former name of `deny`, accepted for one more version. */
const verdictOf = (value: unknown): Answer["verdict"] | undefined =>
  value === "refuse" ? "deny" : value === "allow" || value === "deny" || value === "depends" ? value : undefined

function readExpectation(field: Field): Expectation {
  const { value } = field
  const word = verdictOf(value)
  if (word !== undefined) return { verdict: word }
  if (value === "closed") return { verdict: "deny", status: 0 }
  if (typeof value === "number") return value === 200 ? { verdict: "allow" } : { verdict: "deny", status: value }
  if (!isObject(value)) {
    field.error(field.present ? "bad-value" : "missing-field", "what is expected is not said", EXPECTED)
    return {}
  }
  known(field, ["verdict", "status", "stage", "rule", "body"])
  const verdict = field.field("verdict")
  const expected = verdictOf(verdict.value)
  if (verdict.present && expected === undefined) {
    const fix = "write `allow`, `deny` or `depends`"
    verdict.error("unknown-value", `unknown verdict \`${shown(String(verdict.value))}\``, fix)
  }
  const status = field.field("status")
  if (status.present && typeof status.value !== "number")
    status.error("wrong-type", "`status` must be a number", EXPECTED)
  return definedOnly<Expectation>({
    verdict: expected,
    status: typeof status.value === "number" ? status.value : undefined,
    stage: field.field("stage").text,
    rule: field.field("rule").text,
    body: field.field("body").text,
  })
}

/** `GET /admin from cluster.local/ns/foo/sa/sleep`. */
export function describeRequest({ protocol, from, method = "GET", path = "/", token }: DescribedRequest): string {
  const what = protocol === "tcp" ? "a TCP connection" : `${method} ${path}`
  const who = from === undefined ? "in plaintext" : `from ${from}`
  return `${what} ${who}${token === undefined ? "" : " with a token"}`
}

function objectOf(field: Field): { readonly [name: string]: Claim } {
  return isObject(field.value) ? (field.value as { readonly [name: string]: Claim }) : {} // values of YAML are JSON's
}

function definedOnly<T extends object>(values: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T // only those given
}

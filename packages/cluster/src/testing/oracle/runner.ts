// SPDX-License-Identifier: Apache-2.0
// Replays one recorded case and reports how the responses differ. Pauses, which the recorded server needed for its
// caches, are skipped: this server has none.

import { setTimeout as sleep } from "node:timers/promises"
import type { Json, JsonObject } from "../../value.js"
import { Bindings, differences, select } from "./bindings.js"
import { loadFixtures, type OracleCase, type RequestStep, type Step } from "./case.js"
import { type Coming, isPlainBookmark, type OracleClient } from "./client.js"
import type { OracleWebhooks } from "./webhooks.js"

const EVENTUALLY_MS = 60_000
const RETRY_MS = 50
const DURING_DELAY_MS = 100
/** A watch during which something happens lasts until its events have arrived, instead of the recorded two seconds. */
const WATCH_SECONDS = "60"
/** The time in which further, unexpected events of such a watch would arrive. */
const QUIET_MS = 500
const HEADERS = ["content-type", "warning", "retry-after", "location", "allow", "www-authenticate"]

export interface Replay {
  readonly client: OracleClient
  readonly webhooks: OracleWebhooks
  readonly caBundle: string
  compact(): Promise<void>
}

export async function installFixtures(replay: Replay): Promise<void> {
  for (const fixture of loadFixtures()) {
    const errors = await runStep(fixture, new Bindings(), replay)
    if (errors.length > 0) throw new Error(errors.join("\n"))
    if (fixture.ready !== undefined)
      await runStep({ request: fixture.ready, response: { status: 200 }, eventually: true }, new Bindings(), replay)
  }
}

export async function runCase(oracle: OracleCase, replay: Replay): Promise<string[]> {
  const bind = new Bindings([
    ["<webhook-url>", replay.webhooks.url],
    ["<ca-bundle>", replay.caBundle],
  ])
  replay.webhooks.routes = oracle.webhooks ?? {}
  replay.webhooks.take()
  let errors: string[] = []
  for (const part of ["setup", "steps"] as const)
    for (const [i, step] of (oracle[part] ?? []).entries()) {
      if (errors.length > 0) break
      errors = (await runStep(step, bind, replay, part === "setup")).map(
        error => `${part} ${i + 1} (${describe(step)}): ${error}`,
      )
    }
  errors.push(...bind.orderErrors())
  for (const [token, want] of Object.entries(oracle.tokens ?? {})) {
    const value = bind.get(token)
    if (typeof value === "string" && errors.length === 0)
      errors.push(...differences(want, decodeToken(value), bind).map(error => `token ${token}: ${error}`))
  }
  for (const step of oracle.cleanup ?? []) await replay.client.send(bind.fill(step.request))
  return errors
}

function describe(step: Step): string {
  return "request" in step ? `${step.request.method} ${step.request.path}` : JSON.stringify(step)
}

function decodeToken(token: string): JsonObject {
  const part = (text: string | undefined): Json => JSON.parse(Buffer.from(text ?? "", "base64url").toString()) as Json
  const [header, payload] = token.split(".")
  return { header: part(header), payload: part(payload) }
}

/** During setup, a 409 is retried: the namespace of an earlier case may still be terminating. */
async function runStep(step: Step, bind: Bindings, replay: Replay, waitOut = false): Promise<string[]> {
  if ("pause" in step) return []
  if ("hook" in step) {
    await replay.compact()
    return []
  }
  const deadline = Date.now() + (step.eventually === true || waitOut ? EVENTUALLY_MS : 0)
  for (;;) {
    const trial = new Bindings(bind)
    const errors = await attempt(step, trial, replay)
    if (errors.length === 0) {
      for (const [key, value] of trial) bind.set(key, value)
      return []
    }
    if (Date.now() >= deadline || (step.eventually !== true && !errors[0]?.includes("got 409"))) return errors
    await sleep(RETRY_MS)
  }
}

async function attempt(step: RequestStep, bind: Bindings, replay: Replay): Promise<string[]> {
  const recorded = bind.fill(step.request)
  const want = step.response
  const request =
    step.during === undefined ? recorded : { ...recorded, query: { ...recorded.query, timeoutSeconds: WATCH_SECONDS } }
  let nested: Promise<string[]> = Promise.resolve([])
  const during = async (watch: Coming): Promise<string[]> => {
    try {
      await sleep(DURING_DELAY_MS)
      for (const inner of step.during ?? []) {
        const errors = await runStep(inner, bind, replay)
        if (errors.length > 0) return errors.map(error => `during (${describe(inner)}): ${error}`)
      }
      const events = Array.isArray(want.body) ? want.body.length : 0
      while (!watch.isOver && watch.text().split("\n").length <= events) await sleep(RETRY_MS)
      await sleep(QUIET_MS)
      return []
    } finally {
      watch.end()
    }
  }
  const got = await replay.client.send(request, watch => {
    if (step.during !== undefined) nested = during(watch)
  })
  const inside = await nested
  if (inside.length > 0) return inside
  if (got.status !== want.status)
    return [`status: want ${want.status}, got ${got.status} ${JSON.stringify(got.body ?? got.text)?.slice(0, 600)}`]
  const out: string[] = []
  if (want.headers !== undefined)
    for (const name of HEADERS) differences(want.headers[name], got.headers[name], bind, `header ${name}`, out)
  if (want.body !== undefined) {
    let body: Json = got.body ?? null
    let expected = want.body
    if (step.select !== undefined) body = select(body, step.select)
    if (request.stream === true && Array.isArray(expected) && Array.isArray(body)) {
      expected = oneBookmark(expected)
      body = oneBookmark(body)
      if (
        Array.isArray(body) &&
        Array.isArray(expected) &&
        body.length === expected.length + 1 &&
        isPlainBookmark(body.at(-1))
      )
        body = body.slice(0, -1)
    }
    differences(expected, body, bind, "", out)
  }
  if (want.text !== undefined) differences(want.text, got.text, bind, "text", out)
  const calls = replay.webhooks.take()
  if (step.webhookCalls !== undefined) differences(step.webhookCalls, calls, bind, "webhookCalls", out)
  return out
}

/** The number of periodic bookmarks depends on timing, so any number counts as one, at the end. */
function oneBookmark(events: readonly Json[]): Json {
  return [...events.filter(event => !isPlainBookmark(event)), ...events.filter(isPlainBookmark).slice(0, 1)]
}

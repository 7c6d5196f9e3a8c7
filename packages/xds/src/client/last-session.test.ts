// SPDX-License-Identifier: Apache-2.0
import { createSecureContext } from "node:tls"
import { describe, expect, it, test } from "vitest"
import { LastSession, type SessionTerms } from "./last-session.js"

const TERMS: SessionTerms = { address: "a:1", serverName: "a", trustBundle: "roots", certificateChain: "own" }
const SESSION = { ticket: Buffer.from("ticket"), endsAt: 1_000 }

function kept(): LastSession {
  const session = new LastSession()
  session.keep(TERMS, SESSION)
  return session
}

it("is offered under the terms of its creation", () => {
  const session = kept()
  expect(session.get({ ...TERMS }, 999)).toBe(SESSION)
  expect(session.get(TERMS, 999)).toBe(SESSION)
})

test.each<[string, Partial<SessionTerms>]>([
  ["another control plane", { address: "b:1" }],
  ["another name", { serverName: "b" }],
  ["other roots", { trustBundle: "others" }],
  ["another certificate", { certificateChain: "renewed" }],
])("is not offered to %s, and is dropped", (_, terms) => {
  const session = kept()
  expect(session.get({ ...TERMS, ...terms }, 0)).toBeUndefined()
  expect(session.get(TERMS, 0)).toBeUndefined()
})

it("is not offered after the server's certificate has expired", () => {
  expect(kept().get(TERMS, 1_000)).toBeUndefined()
})

it("is forgotten on request", () => {
  const session = kept()
  session.forget()
  expect(session.get(TERMS, 0)).toBeUndefined()
})

describe("parsed trust and credentials", () => {
  it("are parsed once under the same terms, even if the session is dropped", () => {
    const session = new LastSession()
    const context = session.context(TERMS, createSecureContext)
    session.forget()
    expect(session.context({ ...TERMS }, createSecureContext)).toBe(context)
  })

  test.each<[string, Partial<SessionTerms>]>([
    ["other roots", { trustBundle: "others" }],
    ["another certificate", { certificateChain: "renewed" }],
  ])("are parsed again under %s", (_, terms) => {
    const session = new LastSession()
    const context = session.context(TERMS, createSecureContext)
    expect(session.context({ ...TERMS, ...terms }, createSecureContext)).not.toBe(context)
  })

  it("are not kept if they cannot be parsed", () => {
    const session = new LastSession()
    const broken = () => {
      throw new Error("no certificate")
    }
    expect(() => session.context(TERMS, broken)).toThrow("no certificate")
    expect(session.context(TERMS, createSecureContext)).toBeDefined()
  })
})

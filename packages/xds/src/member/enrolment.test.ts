// SPDX-License-Identifier: Apache-2.0
import { CertificateAuthority, certificateFacts, createRoot, readSigningRequest } from "@merlon/identity"
import { afterEach, expect, it, vi } from "vitest"
import { Enrolment } from "./enrolment.js"
import type { WorkloadCredentials } from "./workload-credentials.js"

const IDENTITY = "spiffe://cluster.local/ns/app/sa/consumer"
const HOUR = 3_600_000

const newAuthority = () =>
  new CertificateAuthority(createRoot({ trustDomain: "cluster.local", now: Date.now() }), Date.now())

let enrolment: Enrolment | undefined
afterEach(() => enrolment?.close())

interface RigOverrides {
  readonly now?: () => number
  readonly signedAt?: () => number
  readonly credentials?: WorkloadCredentials | undefined
  readonly rejections?: number
}

function rig({ now = Date.now, signedAt = now, credentials, rejections = 0 }: RigOverrides = {}) {
  const authority = newAuthority()
  const used: WorkloadCredentials[] = []
  const warnings: string[] = []
  const errors: string[] = []
  let asked = 0
  const note = (fields: object, message: string) => {
    warnings.push(message)
    if ("error" in fields) errors.push(String(fields.error))
  }
  const made = new Enrolment(
    {
      sign: async request => {
        asked += 1
        if (asked <= rejections) throw new Error("not now")
        const read = readSigningRequest(request)
        if (!read.ok) throw new Error(read.message)
        return authority.sign({ publicKey: read.publicKey, identity: IDENTITY, ttlMs: HOUR, now: signedAt() })
      },
      use: async taken => void used.push(taken),
      logger: { info: () => undefined, warn: note },
      now,
      // Always the shortest delay.
      random: () => 0,
    },
    credentials,
  )
  enrolment = made
  return { enrolment: made, authority, used, warnings, errors, asked: () => asked }
}

it("requests credentials if there are none, and puts them to use", async () => {
  const { enrolment, authority, used } = rig()
  expect(enrolment.credentials).toBeUndefined()
  await enrolment.start()
  expect(enrolment.credentials).toEqual(used[0])
  expect(certificateFacts(enrolment.credentials?.certificateChain ?? "").spiffeId).toBe(IDENTITY)
  expect(enrolment.signer(authority.bundle)).toBe(authority.fingerprint)
  expect(enrolment.signer(newAuthority().bundle)).toBeUndefined()
})

it("retries after a rejection, and reports that there are no credentials", async () => {
  const { enrolment, used, warnings } = rig({ rejections: 1 })
  await enrolment.start()
  expect(used).toHaveLength(1)
  expect(warnings).toEqual(["cannot get a certificate (none so far); retrying"])
})

it("requests nothing while its certificate is new", async () => {
  const first = rig()
  await first.enrolment.start()
  const second = rig({ credentials: first.enrolment.credentials })
  await second.enrolment.start()
  expect(second.asked()).toBe(0)
})

it("renews a certificate past half its lifetime, and uses the old one meanwhile", async () => {
  const first = rig()
  await first.enrolment.start()
  const late = Date.now() + 0.9 * HOUR
  const second = rig({ credentials: first.enrolment.credentials, now: () => late })
  await second.enrolment.start()
  expect(second.enrolment.credentials).toEqual(first.enrolment.credentials)
  await expect.poll(() => second.used.length).toBe(1)
  expect(second.enrolment.credentials).toEqual(second.used[0])
})

it("ignores expired credentials", async () => {
  const first = rig()
  await first.enrolment.start()
  const second = rig({ credentials: first.enrolment.credentials, now: () => Date.now() + 2 * HOUR })
  expect(second.enrolment.credentials).toBeUndefined()
})

it("renews once for concurrent callers", async () => {
  const { enrolment, asked } = rig()
  await Promise.all([enrolment.renew(), enrolment.renew(), enrolment.renew()])
  expect(asked()).toBe(1)
})

it("pauses between requests if its clock is a day ahead of the control plane's", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    const { enrolment, asked } = rig({ now: () => Date.now() + 24 * HOUR, signedAt: () => Date.now() })
    await enrolment.start()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(asked()).toBe(1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(asked()).toBe(2)
  } finally {
    vi.useRealTimers()
  }
})

it.each([
  ["ahead by a year", 365 * 24 * HOUR],
  ["back by a year", -365 * 24 * HOUR],
])("keeps a valid certificate while the control plane's clock is %s, and reports both clocks", async (_, off) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    let wrong = 0
    let passed = 0
    const { enrolment, used, asked, errors } = rig({
      now: () => Date.now() + passed,
      signedAt: () => Date.now() + passed + wrong,
    })
    await enrolment.start()
    const first = enrolment.credentials
    wrong = off
    passed = 0.6 * HOUR
    await vi.advanceTimersByTimeAsync(120_000)
    expect(asked()).toBeGreaterThan(1)
    expect(used).toEqual([first])
    expect(enrolment.credentials).toEqual(first)
    expect(errors.at(-1)).toMatch(
      /^the offered certificate is valid from .* to .*, and the local time is .*; correct the wrong clock$/,
    )
    wrong = 0
    await vi.advanceTimersByTimeAsync(120_000)
    expect(used).toHaveLength(2)
    expect(enrolment.credentials).toEqual(used[1])
  } finally {
    vi.useRealTimers()
  }
})

it("soon replaces a certificate for next year that it had to accept", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    let wrong = 365 * 24 * HOUR
    const { enrolment, used } = rig({ signedAt: () => Date.now() + wrong })
    await enrolment.start()
    wrong = 0
    await vi.advanceTimersByTimeAsync(61_000)
    expect(used).toHaveLength(2)
    expect(certificateFacts(used[1]?.certificateChain ?? "").notBefore).toBeLessThanOrEqual(Date.now())
  } finally {
    vi.useRealTimers()
  }
})

it("renews in time after its clock was behind during signing and was then corrected", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    let passed = 0
    const { enrolment, asked } = rig({ now: () => Date.now() + passed })
    await enrolment.start()
    passed = 0.7 * HOUR
    await vi.advanceTimersByTimeAsync(61_000)
    expect(asked()).toBe(2)
  } finally {
    vi.useRealTimers()
  }
})

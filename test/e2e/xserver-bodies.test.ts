// SPDX-License-Identifier: Apache-2.0
// Bodies of every size through the real process, in every framing, byte for byte, with curl as the client.
// @module-tag needs/curl

import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Authority, GOOD_ID } from "../../packages/xserver/src/accept/testing/certificates.js"
import { type Application, type Seen, startApplication } from "./support/application.js"
import { XserverProcess } from "./support/xserver.js"

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), "merlon-bodies-"))
const authority = new Authority()
const client = authority.issue({ uris: [GOOD_ID] })
let application: Application
let xserver: XserverProcess

beforeAll(async () => {
  application = await startApplication()
  xserver = await XserverProcess.start({
    upstream: application.port,
    tls: authority.material(),
    args: ["--access-log", "off"],
  })
  writeFileSync(join(folder, "client.pem"), client.certificate)
  writeFileSync(join(folder, "client.key"), client.privateKey)
})
afterAll(async () => {
  await xserver.remove()
  await application.close()
  rmSync(folder, { recursive: true })
})

const mtls = (): string[] => ["-k", "--cert", join(folder, "client.pem"), "--key", join(folder, "client.key")]

const WAYS: readonly { name: string; scheme: string; args: () => readonly string[]; upload?: readonly string[] }[] = [
  { name: "HTTP/1.1 with a length", scheme: "http", args: () => ["--http1.1"] },
  {
    name: "HTTP/1.1 in chunks",
    scheme: "http",
    args: () => ["--http1.1"],
    upload: ["-H", "Transfer-Encoding: chunked"],
  },
  { name: "HTTP/1.1 without waiting for 100", scheme: "http", args: () => ["--http1.1"], upload: ["-H", "Expect:"] },
  { name: "HTTP/1.1 over mTLS", scheme: "https", args: () => ["--http1.1", ...mtls()] },
  { name: "HTTP/2 with prior knowledge", scheme: "http", args: () => ["--http2-prior-knowledge"] },
  { name: "HTTP/2 over mTLS", scheme: "https", args: () => ["--http2", ...mtls()] },
]
const SIZES = [0, 1, 65_535, 65_536, 1_000_003, 32 * 1024 * 1024]
/** The bytes that the application sends. */
const SENT_BACK = Buffer.alloc(Math.max(...SIZES), "0123456789")

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex")
}

/** By size. All variants share them: to generate and digest the largest takes longer than to carry it. */
const bodies = new Map<number, { readonly file: string; readonly digest: string }>()

beforeAll(() => {
  for (const size of SIZES) {
    const body = randomBytes(size)
    const file = join(folder, `body-${size}`)
    writeFileSync(file, body)
    bodies.set(size, { file, digest: sha256(body) })
  }
})

describe.each(WAYS)("$name", ({ scheme, args, upload = [] }) => {
  it.each(SIZES)("carries %d bytes in both directions", async size => {
    const { file = "", digest } = bodies.get(size) ?? {}
    const url = `${scheme}://127.0.0.1:${xserver.port}`
    const common = ["-sS", "--fail", "--max-time", "280", ...args()]
    const { stdout } = await run("curl", [...common, ...upload, "--data-binary", `@${file}`, `${url}/anything`])
    const seen: Seen = JSON.parse(stdout)
    expect([seen.bytes, seen.sha256]).toEqual([size, digest])

    const back = join(folder, "back")
    await run("curl", [...common, "-o", back, `${url}/bytes/${size}`])
    const received = size === 0 ? Buffer.alloc(0) : readFileSync(back)
    expect(received.equals(SENT_BACK.subarray(0, size))).toBe(true)
    rmSync(back, { force: true })
  })
})

// All connections are read into one buffer: one caller's bytes must never reach another.
it("returns to each of many concurrent callers its own bytes", async () => {
  const callers = Array.from({ length: 48 }, (_, index) => {
    const way = WAYS[index % 4] // all HTTP/1.1 variants
    return { way, body: randomBytes(1 + ((index * 104_729) % 700_001)), file: join(folder, `caller-${index}`) }
  })
  const answers = callers.map(async ({ way, body, file }) => {
    writeFileSync(file, body)
    const args = ["-sS", "--fail", "--fail-early", "--max-time", "140", ...(way?.args() ?? []), ...(way?.upload ?? [])]
    const url = `${way?.scheme}://127.0.0.1:${xserver.port}/echo`
    // Twice, so that the second request uses an existing connection.
    const once = ["--data-binary", `@${file}`, "-o", `${file}.back`, url]
    await run("curl", [...args, ...once, "--next", ...args, ...once.with(3, `${file}.again`)])
    return [readFileSync(`${file}.back`).equals(body), readFileSync(`${file}.again`).equals(body)]
  })
  expect(await Promise.all(answers)).toEqual(callers.map(() => [true, true]))
})

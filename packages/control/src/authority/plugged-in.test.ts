// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/openssl
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type AuthorityKeys, CertificateAuthority } from "@merlon/identity"
import { afterEach, describe, expect, it, vi } from "vitest"
import { SECRETS } from "../kubernetes/resource-type.js"
import { ManualClock, settle } from "../observe/testing/manual-clock.js"
import { PluggedIn } from "./plugged-in.js"
import { readPluggedIn, replacementError } from "./plugged-in-files.js"
import { MemoryLog, NAMES, Stage, secretObject } from "./testing/authority-stage.js"
import { intermediate } from "./testing/intermediate.js"

const stage = new Stage()
const NOW = stage.clock.now()
const [A, B, C] = [stage.root(), stage.root(), stage.root()]
const INTERMEDIATE = intermediate(A, NOW)
const SECOND = intermediate(A, NOW)

const own = ({ certificateChain, privateKey, root }: AuthorityKeys, chain?: string): Record<string, string> => ({
  "ca-cert.pem": certificateChain,
  "ca-key.pem": privateKey,
  "root-cert.pem": root,
  ...(chain === undefined ? {} : { "cert-chain.pem": chain }),
})
const tls = ({ certificateChain, privateKey, root }: AuthorityKeys): Record<string, string> => ({
  "tls.crt": certificateChain,
  "tls.key": privateKey,
  "ca.crt": root,
})
const files = (record: Record<string, string>) => new Map(Object.entries(record))

describe("the files of a plugged-in authority", () => {
  it.each<[string, Record<string, string>]>([
    ["with the file names of a mesh", own(INTERMEDIATE)],
    ["with the file names of a TLS Secret", tls(INTERMEDIATE)],
    ["with a chain that begins with the certificate itself", own(INTERMEDIATE, INTERMEDIATE.certificateChain + A.root)],
    ["with an empty chain", own(INTERMEDIATE, "\n")],
    ["if the root signs workloads itself", own(A)],
  ])("are read %s", (_, record) => {
    const read = readPluggedIn(files(record), NOW)
    expect(read).toMatchObject({ ok: true })
    expect(read.ok && read.authority.fingerprint).toBe(new CertificateAuthority(A, NOW).fingerprint)
  })

  it.each<[string, Record<string, string>, string]>([
    ["they are missing", {}, "`tls.crt` and `tls.key` and `ca.crt` missing"],
    ["the root is missing", { "ca-cert.pem": A.root, "ca-key.pem": A.privateKey }, "`root-cert.pem` missing"],
    ["the chain is damaged", own(INTERMEDIATE, "-----BEGIN"), "`cert-chain.pem` cannot be used"],
    [
      "the key belongs to another certificate",
      { ...own(A), "ca-key.pem": B.privateKey },
      "does not belong to the first certificate",
    ],
    ["the chain leads to another root", { ...own(INTERMEDIATE), "root-cert.pem": B.root }, "does not lead to the root"],
  ])("are rejected if %s", (_, record, message) => {
    expect(readPluggedIn(files(record), NOW)).toEqual({ ok: false, message: expect.stringContaining(message) })
  })
})

describe("a replacement of a plugged-in authority", () => {
  const authority = (keys: AuthorityKeys, root = keys.root) => new CertificateAuthority({ ...keys, root }, NOW)

  it.each<[string, CertificateAuthority, CertificateAuthority, string | undefined]>([
    ["may be another intermediate of the root", authority(INTERMEDIATE), authority(SECOND), undefined],
    ["may be the same with a further root", authority(A), authority(A, A.root + B.root), undefined],
    ["may be a signer whose root is trusted", authority(A, A.root + B.root), authority(B, A.root + B.root), undefined],
    ["may be the same without an unneeded root", authority(B, A.root + B.root), authority(B), undefined],
    ["must not be another root", authority(A), authority(B), "added and removed in one step"],
    ["must not swap a further root", authority(A, A.root + B.root), authority(A, A.root + C.root), "in one step"],
    ["must not be a signer with a new root", authority(A), authority(B, A.root + B.root), "does not trust yet"],
  ])("%s", (_, current, next, error) => {
    expect(replacementError(current, next)).toEqual(error === undefined ? undefined : expect.stringContaining(error))
  })
})

describe("an authority that is plugged in by a Secret", () => {
  async function plugged(record: Record<string, string>) {
    const here = new Stage()
    here.cluster.put(SECRETS, secretObject(NAMES.pluggedInSecret, record))
    return { here, authority: await here.authority() }
  }

  it("signs, and no root is generated", async () => {
    const { here, authority } = await plugged(own(INTERMEDIATE))
    expect(authority.current.bundle).toBe(A.root)
    expect(here.cluster.writes).toEqual([])
  })

  it("fails the start if it cannot be used", async () => {
    await expect(plugged({})).rejects.toThrow("the Secret `merlon-system/merlon-cacerts` cannot be used")
  })

  it("is replaced by another intermediate at once", async () => {
    const { here, authority } = await plugged(own(INTERMEDIATE))
    const serving = authority.serve("xds", ["localhost"])
    const before = serving.current.certificateChain
    here.cluster.put(SECRETS, secretObject(NAMES.pluggedInSecret, own(SECOND)))
    await settle()
    expect(authority.facts.rejectedChanges).toBe(0)
    expect(serving.current.certificateChain).toContain(SECOND.certificateChain)
    expect(before).toContain(INTERMEDIATE.certificateChain)
  })

  it("changes to another root step by step", async () => {
    const { here, authority } = await plugged(own(A))
    const offer = async (keys: AuthorityKeys, root: string) => {
      here.cluster.put(SECRETS, secretObject(NAMES.pluggedInSecret, own({ ...keys, root })))
      await settle()
    }
    await offer(B, B.root)
    expect([authority.current.bundle, authority.facts.rejectedChanges]).toEqual([A.root, 1])
    expect(here.log.lines.at(-1)).toMatch(/^error .*the change was rejected: roots were added and removed in one step/)
    await offer(A, A.root + B.root)
    await offer(B, A.root + B.root)
    await offer(B, B.root)
    expect([authority.current.bundle, authority.facts.rejectedChanges]).toEqual([B.root, 1])
  })

  it("is used from the next start if it is added while the mesh runs", async () => {
    const here = new Stage()
    const authority = await here.authority()
    const { bundle } = authority.current
    here.cluster.put(SECRETS, secretObject(NAMES.pluggedInSecret, own(A)))
    await settle()
    expect(authority.current.bundle).toBe(bundle)
    expect(here.log.lines).toEqual([
      expect.stringContaining("`merlon-system/merlon-cacerts` is used from the next start"),
    ])
  })

  it.each([
    ["is reported if workloads trust none of its roots", B.root, 1],
    ["is not reported if workloads trust one of its roots", B.root + A.root, 0],
  ])("%s", async (_, trusted, reports) => {
    const here = new Stage()
    here.cluster.put(SECRETS, secretObject(NAMES.pluggedInSecret, own(A)))
    here.configMap(NAMES.bundleConfigMap, { "root-cert.pem": trusted })
    await here.authority()
    expect(here.log.lines.filter(line => line.includes("do not trust yet"))).toHaveLength(reports)
  })

  it("keeps working when the Secret is deleted", async () => {
    const { here, authority } = await plugged(own(A))
    await here.cluster.delete(SECRETS, NAMES.pluggedInSecret, NAMES.namespace)
    await settle()
    expect(authority.current.bundle).toBe(A.root)
  })
})

describe("an authority that is plugged in by a folder", () => {
  const folders: string[] = []
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
  })

  async function folderWith(record: Record<string, string>): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "cacerts-"))
    folders.push(folder)
    await put(folder, record)
    return folder
  }
  async function put(folder: string, record: Record<string, string>): Promise<void> {
    for (const [name, text] of Object.entries(record)) await writeFile(join(folder, name), text)
  }

  it("is read again, and unusable files are reported once", async () => {
    const folder = await folderWith(own(INTERMEDIATE))
    const clock = new ManualClock(NOW)
    let rejected = 0
    const source = await PluggedIn.fromFolder(folder, { clock, log: new MemoryLog(), onRejected: () => rejected++ })
    const signers: string[] = []
    source.onChange(() => signers.push(source.current.signer.keys.certificateChain))
    await put(folder, own(B))
    await clock.advance(10_000)
    await vi.waitFor(() => expect([rejected, clock.pending]).toEqual([1, 1]), 90_000)
    await clock.advance(10_000)
    await vi.waitFor(() => expect(clock.pending).toBe(1), 90_000)
    await put(folder, own(SECOND))
    await clock.advance(10_000)
    await vi.waitFor(() => expect(signers).toEqual([SECOND.certificateChain]), 90_000)
    expect(rejected).toBe(1)
    source.close()
  })

  it("fails the start if it is empty", async () => {
    const folder = await folderWith({})
    await expect(new Stage().authority({ folder })).rejects.toThrow("cannot be used as the mesh's authority")
  })

  it("takes precedence over a Secret", async () => {
    const here = new Stage()
    here.cluster.put(SECRETS, secretObject(NAMES.pluggedInSecret, own(A)))
    const authority = await here.authority({ folder: await folderWith(own(B)) })
    expect(authority.current.bundle).toBe(B.root)
    authority.close()
  })
})

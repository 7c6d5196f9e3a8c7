// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { expect, it } from "vitest"
import { parse } from "yaml"
import { krewArchiveName, krewManifest } from "./krew.js"
import { krewArchive } from "./systems.js"

const program = Buffer.from("#!/bin/sh\n")
const archive = krewArchive({ arch: "x64", program, version: "1.2.3", components: [] })
const digest = createHash("sha256").update(archive).digest("hex")
const manifest = parse(krewManifest("1.2.3", new Map([["x64", digest]])))

it("names the archive of each system with its digest", () => {
  expect(manifest.spec.platforms).toEqual([
    {
      selector: { matchLabels: { os: "linux", arch: "amd64" } },
      uri: expect.stringMatching(/^https:.*\/v1\.2\.3\/kubectl-merlon-1\.2\.3-linux-x64\.tar\.gz$/),
      sha256: digest,
      bin: "kubectl-merlon",
    },
  ])
  expect(manifest.spec.platforms[0].uri).toContain(krewArchiveName("1.2.3", "x64"))
})

it("has what krew requires of a manifest", () => {
  expect(manifest).toMatchObject({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: expect.stringMatching(/^[a-z][a-z-]*$/) },
    spec: { version: expect.stringMatching(/^v\d+\.\d+\.\d+/), homepage: expect.any(String) },
  })
  expect(manifest.spec.shortDescription.length).toBeLessThanOrEqual(50)
})

it("has only files in the archive, the program first, because krew unpacks no links", () => {
  const tar = gunzipSync(archive)
  const found: [string, string][] = []
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const field = (from: number, length: number): string =>
      tar.toString("latin1", at + from, at + from + length).replace(/\0.*$/s, "")
    found.push([field(0, 100), field(156, 1)])
    at += 512 + Math.ceil(Number.parseInt(field(124, 12), 8) / 512) * 512
  }
  expect(found.map(([name]) => name)).toContain("kubectl-merlon")
  expect(found.filter(([, type]) => type !== "0")).toEqual([])
})

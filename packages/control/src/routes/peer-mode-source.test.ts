// SPDX-License-Identifier: Apache-2.0
import type { PeerAuthentication } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import { PeerModeSource } from "./peer-mode-source.js"
import { MemoryDocuments } from "./testing/memory-directory.js"
import { MESH, peerAuthentication, workload } from "./testing/mesh.js"

function source() {
  const documents = new MemoryDocuments<PeerAuthentication>()
  const modes = new PeerModeSource(documents, MESH)
  const received: (string | undefined)[] = []
  modes.onChange(namespace => received.push(namespace))
  return { documents, modes, received }
}

const web = workload("web", { labels: { app: "web" } })
const strict = { mtls: { mode: "STRICT" } }
const root = { namespace: "merlon-system" }

it("is PERMISSIVE by default", () => {
  expect(source().modes.modeOf(web, 8080)).toBe("PERMISSIVE")
})

it("follows policies, and reports whose modes may have changed", () => {
  const { documents, modes, received } = source()
  documents.set(peerAuthentication("p", strict))
  expect(modes.modeOf(web, 8080)).toBe("STRICT")
  documents.set(peerAuthentication("p", { mtls: { mode: "DISABLE" } }))
  expect(modes.modeOf(web, 8080)).toBe("DISABLE")
  documents.remove("app/p")
  expect(modes.modeOf(web, 8080)).toBe("PERMISSIVE")
  expect(received).toEqual(["app", "app", "app"])
})

it("names no namespace if the whole mesh is affected", () => {
  const { documents, modes, received } = source()
  documents.set(peerAuthentication("p", strict, root))
  expect(modes.modeOf(web, 8080)).toBe("STRICT")
  expect(received).toEqual([undefined])
})

it("includes policies that existed before", () => {
  const documents = new MemoryDocuments<PeerAuthentication>()
  documents.set(peerAuthentication("p", strict))
  expect(new PeerModeSource(documents, MESH).modeOf(web, 8080)).toBe("STRICT")
})

it("uses the workload's own port, and ignores other namespaces", () => {
  const { documents, modes } = source()
  const selector = { matchLabels: { app: "web" } }
  documents.set(peerAuthentication("p", { selector, portLevelMtls: { 8080: { mode: "STRICT" } } }))
  documents.set(peerAuthentication("q", { mtls: { mode: "DISABLE" } }, { namespace: "else" }))
  expect([modes.modeOf(web, 8080), modes.modeOf(web, 9000)]).toEqual(["STRICT", "PERMISSIVE"])
})
